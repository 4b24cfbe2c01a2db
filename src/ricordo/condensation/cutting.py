"""A text cut to so many tokens, at a word."""

from ricordo.model_ports import TokenCounter


def cut(text: str, limit: int, counter: TokenCounter) -> str:
    """The longest beginning of `text` found, at a word, that costs at most `limit` tokens; marked where it ends."""
    if counter.count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_ended(text, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    # Counts need not grow with length, so what the search found is looked at once more.
    shortened = _ended(text, low)
    return shortened if low and counter.count(shortened) <= limit else ""


def _ended(text: str, size: int) -> str:
    head = text[:size]
    if size < len(text) and not text[size].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return head.rstrip() + "…"
