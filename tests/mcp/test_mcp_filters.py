"""Filters of the tools: laws first, then worked examples."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ValidationError
from ricordo.mcp.memories import FILTER_FIELDS, Filter, parse_filters

ids = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=20)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
conditions = st.fixed_dictionaries(
    {},
    optional={
        "agent_id": ids,
        "run_id": ids,
        "kind": st.sampled_from(["fact", "message"]),
        "role": ids,
        "topic_id": ids,
        "tags": st.lists(ids, min_size=1, max_size=3),
    },
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def anna(field: str, named: object) -> None:
    """Only anna."""
    if named not in (None, "anna"):
        raise ValidationError(field, "somebody else")


@given(conditions)
def test_a_list_under_and_is_the_same_as_its_fields(wanted: dict[str, object]) -> None:
    """Fields side by side, and the same fields one by one under AND, mean the same."""
    parted = {"AND": [{name: value} for name, value in wanted.items()]}
    assert parse_filters(wanted, anna) == parse_filters(parted, anna)


@given(st.dictionaries(st.sampled_from([*FILTER_FIELDS, "AND", "OR", "x"]) | st.text(max_size=8), anything, max_size=4))
def test_filters_are_read_or_refused_by_name(given_filters: dict[str, object]) -> None:
    """Whatever a model writes is a filter or a refusal that names where it went wrong."""
    refused = ""
    try:
        assert isinstance(parse_filters(given_filters, anna), Filter)
    except ValidationError as error:
        refused = error.field
    assert not refused or refused.startswith("filters.")


@given(st.text(max_size=12).filter(lambda name: name not in (*FILTER_FIELDS, "AND")), anything)
def test_no_unknown_field_is_passed_over(name: str, value: object) -> None:
    """A condition that is not understood is refused: passing it over would show more than was asked for."""
    with pytest.raises(ValidationError):
        parse_filters({name: value}, anna)


@given(moments, moments, moments)
def test_a_time_is_covered_from_its_start_to_before_its_end(start: datetime, end: datetime, moment: datetime) -> None:
    """`gte` is part of the time asked for, `lt` is not."""
    wanted = parse_filters({"created_at": {"gte": start.isoformat(), "lt": end.isoformat()}}, anna)
    assert wanted.covers(moment) == (start <= moment < end)


@given(ids.filter(lambda name: name != "anna"))
def test_another_user_is_refused_wherever_they_are_named(name: str) -> None:
    """A user id in a filter is compared, never followed."""
    for filters in ({"user_id": name}, {"AND": [{"user_id": "anna"}, {"user_id": name}]}):
        with pytest.raises(ValidationError) as refused:
            parse_filters(filters, anna)
        assert refused.value.field == "filters.user_id"


def test_two_values_for_one_field_are_refused() -> None:
    """Nothing can be in two sessions at once, so two of them are a mistake."""
    with pytest.raises(ValidationError, match="twice"):
        parse_filters({"AND": [{"run_id": "a"}, {"session_id": "b"}]}, anna)


def test_a_time_without_a_zone_is_taken_for_utc() -> None:
    """Models leave the zone out."""
    assert parse_filters({"created_at": {"gte": "2026-05-01"}}, anna).after == datetime(2026, 5, 1, tzinfo=UTC)
