"""Find personal data and secrets in a text, and mask, hash or block it.

A text and a policy per kind go in; spans or the redacted text come out. Kinds with a check digit are reported only if
it is valid, so ordinary numbers stay. Names and addresses are not detected, because no rule finds them reliably.
"""

import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Literal

PiiKind = Literal["email", "iban", "card", "fiscal_code", "vat_number", "ip", "phone"]
PiiAction = Literal["allow", "mask", "hash", "block"]
PII_KINDS: tuple[PiiKind, ...] = ("email", "iban", "card", "fiscal_code", "vat_number", "ip", "phone")


@dataclass(frozen=True, slots=True)
class PiiSpan:
    """The place of one piece of personal data, without the data."""

    kind: PiiKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted text; `blocked` lists the kinds for which it must not be stored at all."""

    text: str
    spans: tuple[PiiSpan, ...]
    blocked: tuple[PiiKind, ...]


def find_pii(text: str) -> tuple[PiiSpan, ...]:
    """The personal data in a text, in order, without overlaps; kinds with a check digit take precedence."""
    found: list[PiiSpan] = []
    for kind, pattern, is_valid in _kinds():
        for start, end in _places(text, pattern, is_valid):
            if not any(start < each.end and each.start < end for each in found):
                found.append(PiiSpan(kind, start, end))
    return tuple(sorted(found, key=lambda span: span.start))


def _places(text: str, pattern: re.Pattern[str], is_valid: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Where a kind occurs; of each match, the longest valid prefix is used."""
    at = 0
    while match := pattern.search(text, at):
        at = match.start() + 1
        for end in range(match.end(), match.start(), -1):
            whole = end == match.end() or not (text[end].isalnum() or text[end - 1] in " -.")
            if whole and is_valid(text[match.start() : end]):
                yield match.start(), end
                at = end
                break


def redact(text: str, policy: Mapping[PiiKind, PiiAction], key: str = "") -> Redacted:
    """Apply the policy to each piece; a kind without a policy is allowed.

    `mask` leaves the kind (`[email]`). `hash` adds a short keyed digest, so that equal values can be recognised without
    being known.
    """
    spans = find_pii(text)
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], _shown(text[span.start : span.end], span.kind, policy, key)]
        at = span.end
    blocked = tuple(kind for kind in PII_KINDS if policy.get(kind) == "block" and any(s.kind == kind for s in spans))
    return Redacted("".join([*parts, text[at:]]), spans, blocked)


def _shown(data: str, kind: PiiKind, policy: Mapping[PiiKind, PiiAction], key: str) -> str:
    action = policy.get(kind, "allow")
    if action == "allow":
        return data
    if action == "hash":
        digest = hmac.new(key.encode(), re.sub(r"[\s.-]", "", data).casefold().encode(), sha256).hexdigest()[:10]
        return f"[{kind}:{digest}]"
    return f"[{kind}]"


def _is_iban(text: str) -> bool:
    """ISO 13616: the rearranged number modulo 97 is 1."""
    plain = _bare(text).upper()
    if not 15 <= len(plain) <= 34 or not plain.isascii():
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    digits = _bare(text)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


# Values of characters at odd places of a codice fiscale.
_ODD = dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)) | dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        strict=True,
    )
)


def _is_fiscal_code(text: str) -> bool:
    """The last letter of a codice fiscale is a checksum of the fifteen characters before it."""
    code = text.upper()
    if len(code) != 16:
        return False
    total = 0
    for place, sign in enumerate(code[:15]):
        total += _ODD[sign] if place % 2 == 0 else int(sign) if sign.isdigit() else ord(sign) - ord("A")
    return chr(ord("A") + total % 26) == code[15]


def _is_vat_number(text: str) -> bool:
    digits = text[-11:]
    return len(digits) == 11 and digits.isdigit() and len(set(digits)) > 1 and _luhn(digits)


def _is_ip(text: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_phone(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return 8 <= len(digits) <= 15 and len(set(digits)) > 2


def _bare(text: str) -> str:
    return re.sub(r"[\s-]", "", text)


@cache
def _kinds() -> tuple[tuple[PiiKind, re.Pattern[str], Callable[[str], bool]], ...]:
    """Kinds in order of precedence; compiled on first use, so that importing stays fast."""
    return (
        (
            "email",
            re.compile(r"(?<![\w.+-])[A-Za-z0-9_.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"),
            lambda text: not text.startswith(".") and ".." not in text,
        ),
        ("iban", re.compile(r"(?<!\w)[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}(?!\w)"), _is_iban),
        ("card", re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)"), _is_card),
        (
            "fiscal_code",
            re.compile(
                r"(?<!\w)[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z](?!\w)",
                re.IGNORECASE,
            ),
            _is_fiscal_code,
        ),
        ("vat_number", re.compile(r"(?<![\w.,+-])(?:IT ?)?\d{11}(?![\w-]|[.,]\d)", re.IGNORECASE), _is_vat_number),
        (
            "ip",
            re.compile(
                r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{1,4}:){2,7}[0-9a-f]{1,4})(?![\w:]|\.\d)", re.I
            ),
            _is_ip,
        ),
        (
            "phone",
            re.compile(
                r"(?<![\w.,/+-])(?:(?:\+|00)\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){1,4}"
                r"|3[2-9]\d[ .-]?\d{3}[ .-]?\d{3,4}|0\d{1,3}[ ./-]\d{5,8}|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}-\d{3}-\d{4})"
                r"(?![\w-]|[.,]\d)"
            ),
            _is_phone,
        ),
    )


def mask_secrets(text: str) -> str:
    """The text with keys, tokens and passwords replaced by `[secret]`; masking twice changes nothing more."""
    if not _may_hold_secret().search(text):
        return text
    for pattern, is_secret in _secrets():

        def masked(found: re.Match[str], is_secret: Callable[[str], bool] = is_secret) -> str:
            value = found["value"]
            if not is_secret(value):
                return found[0]
            start, end = found.start("value") - found.start(), found.end("value") - found.start()
            return f"{found[0][:start]}{SECRET}{found[0][end:]}"

        text = pattern.sub(masked, text)
    return text


SECRET = "[secret]"
_NAMES = r"(?:pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?"


def _is_mixed(value: str) -> bool:
    """Whether a long word looks random: upper and lower case, several digits, mostly different characters."""
    digits = sum(sign.isdigit() for sign in value)
    kinds = any(map(str.isupper, value)) + any(map(str.islower, value)) + (digits >= 4)
    return kinds == 3 and len(set(value)) >= 16


def _is_value(value: str) -> bool:
    """Whether an unquoted value may be a secret: it has a digit, and it is not masked already."""
    return value != SECRET and any(map(str.isdigit, value))


def _is_password(value: str) -> bool:
    """Whether a word after "my password is" is a password: it has a digit or a sign, unlike ordinary words."""
    return value != SECRET and any(sign.isdigit() or sign in "!@#$%^&*+=_" for sign in value)


def _is_new(value: str) -> bool:
    return value != SECRET


@cache
def _may_hold_secret() -> re.Pattern[str]:
    """A quick check: one of the words and signs that every rule needs, or a long word."""
    return re.compile(rf"{_NAMES}|PRIVATE KEY|bearer|basic |://[^\s/]*@|parola|\bpin\b|\w[\w.-]{{15}}", re.IGNORECASE)


@cache
def _secrets() -> tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]:
    """Patterns with the secret as group `value`, each with a check of it."""
    return (
        (
            re.compile(
                r"(?P<value>-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))", re.S
            ),
            _is_new,
        ),
        (re.compile(r"(?i)\b\w[\w+.-]*://[^\s/:@]*:(?P<value>[^\s/@]+)@"), _is_new),
        (re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<value>[\w.+/~-]{12,}=*)"), _is_new),
        # Tokens with the prefix of their issuer, and JSON web tokens.
        (
            re.compile(
                r"(?<![\w-])(?P<value>(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[\w-]{16,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
                r"|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|hf_\w{20,}|npm_\w{20,}"
                r"|pypi-[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_\w{20,}|rc_[0-9a-f]\w{20,}"
                r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
            ),
            _is_new,
        ),
        # name = "value", NAME=value, "name": "value", and in words
        (
            re.compile(rf"(?i){_NAMES}[\"']?\s*(?:[:=]|=>|:=)\s*(?P<quote>[\"'`])(?P<value>[^\"'`\n]{{4,}})(?P=quote)"),
            _is_new,
        ),
        (re.compile(rf"\b[A-Z0-9_]*{_NAMES.upper()}\s*=\s*(?P<value>[^\s\"'`$(){{}}<>]{{4,}})"), _is_new),
        (re.compile(rf"(?i){_NAMES}\s*[:=]\s*(?P<value>[^\s\"'`;,()\[\]{{}}<>$]{{6,}})(?![\w(\[])"), _is_value),
        (
            re.compile(
                r"(?i)\b(?:password|passphrase|passcode|pin|parola d['’]ordine)\s+(?:is|was|è|era)\s+[\"'`]?"
                r"(?P<value>[^\s\"'`,;]{3,}?)(?=[.?]?(?:[\s\"'`,;]|\Z))"
            ),
            _is_password,
        ),
        (re.compile(r"(?<![\w/.-])(?P<value>[A-Za-z0-9_-]{32,}={0,2})(?![\w/.-])"), _is_mixed),
    )
