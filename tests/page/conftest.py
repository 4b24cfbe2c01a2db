"""One browser and one server for all tests of the page; a visitor of their own for each test."""

from collections.abc import Iterator
from itertools import count

import pytest
from page_samples import Site, Visitor, chromium, site
from playwright.sync_api import Browser, sync_playwright

from ricordo.stores.open import store_for

_numbers = count(1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    path = chromium()
    if path is None:
        pytest.skip("the page is tested in a real browser: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that lets everybody in, on a file."""
    with site(store_for(str(tmp_path_factory.mktemp("page") / "ricordo.db"))) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, served: Site) -> Iterator[Visitor]:
    """A user whom nobody has seen before."""
    visitor = Visitor(browser, served, f"visitor-{next(_numbers)}")
    yield visitor
    visitor.close()
