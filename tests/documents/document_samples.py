"""Documents to test with: words, paragraphs, Markdown of every kind, and the bytes of small PDF files."""

from hypothesis import strategies as st

_WORDS = (
    "acqua",
    "luce",
    "pelle",
    "bread",
    "water",
    "the",
    "di",
    "perché",
    "E.g.",
    "3.14",
    "v2.1",
    "ecc.",
    "città",
    "—",
)

sentences = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=40).map(
    lambda words: " ".join(words).capitalize() + "."
)
paragraphs = st.lists(sentences, min_size=1, max_size=8).map(" ".join)
_lists = st.lists(sentences, min_size=1, max_size=12).map(lambda points: "\n".join(f"- {point}" for point in points))
_numbered = st.lists(sentences, min_size=1, max_size=6).map(
    lambda points: "\n".join(f"{number}. {point}" for number, point in enumerate(points, start=1))
)
_code = st.lists(sentences, min_size=1, max_size=10).map(lambda lines: "```\n" + "\n".join(lines) + "\n```")
_tables = st.lists(sentences, min_size=1, max_size=5).map(
    lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | {row} |" for row in rows)
)
headings = st.tuples(st.integers(1, 4), st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4)).map(
    lambda made: "#" * made[0] + " " + " ".join(made[1])
)
blocks = st.one_of(paragraphs, paragraphs, _lists, _numbered, _code, _tables, headings)
markdown = st.lists(blocks, max_size=14).map("\n\n".join)
anything = st.text(
    alphabet=st.one_of(st.sampled_from("ab .!?\n\r\t#-*|`=>1)\f\u2028 "), st.characters(codec="utf-8")), max_size=600
)


def a_pdf(pages: list[list[str]]) -> bytes:
    """A PDF with one line of text below the other, as the simplest programs write it."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"({_escaped(line)}) Tj 0 -14 Td\n" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td\n{shown}ET" if lines else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    tail = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    tail += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + tail.encode("cp1252")


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
