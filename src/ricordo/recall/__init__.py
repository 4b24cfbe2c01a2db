"""Recall: finding past messages by a question, within one owner, from words, meaning, time and speaker.

`search` answers a question: `indexes` keeps an index per owner up to date, `ranking` orders its messages by `evidence`.
Ranking is pure: texts, vectors and `now` come in as arguments, ranked messages with reasons come out.
"""
