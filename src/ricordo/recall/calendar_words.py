"""The names of months, weekdays, seasons, units and small numbers in Italian and English, folded.

Only data: `times` reads these tables to understand "tre giorni fa", "last Friday" or "nel maggio 2023".
"""

ENGLISH_MONTHS = dict(
    zip(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        range(1, 13),
        strict=True,
    )
)
ITALIAN_MONTHS = dict(
    zip(
        [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        range(1, 13),
        strict=True,
    )
)
MONTHS = ENGLISH_MONTHS | ITALIAN_MONTHS

ENGLISH_WEEKDAYS = dict(
    zip(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], range(7), strict=True)
)
ITALIAN_WEEKDAYS = dict(
    zip(["lunedi", "martedi", "mercoledi", "giovedi", "venerdi", "sabato", "domenica"], range(7), strict=True)
)
WEEKDAYS = ENGLISH_WEEKDAYS | ITALIAN_WEEKDAYS

# The month in which a season begins; each lasts three.
SEASONS = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12,
    "primavera": 3, "estate": 6, "autunno": 9, "inverno": 12,
}  # fmt: skip

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "couple of": 2, "couple": 2,
    "un": 1, "uno": 1, "una": 1, "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "sei": 6, "sette": 7, "otto": 8,
    "nove": 9, "dieci": 10, "undici": 11, "dodici": 12, "un paio di": 2, "paio di": 2,
}  # fmt: skip

UNITS = {
    "day": "day", "days": "day", "giorno": "day", "giorni": "day",
    "week": "week", "weeks": "week", "settimana": "week", "settimane": "week",
    "month": "month", "months": "month", "mese": "month", "mesi": "month",
    "year": "year", "years": "year", "anno": "year", "anni": "year",
    "weekend": "weekend", "weekends": "weekend", "fine settimana": "weekend",
}  # fmt: skip
