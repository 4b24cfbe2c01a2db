"""Recall: finding past messages by a question, within one owner, from words, meaning, time and speaker.

Everything in here is pure: texts, vectors and `now` come in as arguments, ranked hits with reasons come out.
Stores keep two small blobs per message (hashed words, quantised vector); an `OwnerIndex` is built from them.
"""
