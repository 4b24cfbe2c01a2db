"""A LangGraph store in the database of a memory: items by namespace and key, separate for each user.

In: LangGraph's operations. Out: its items. Items are found by namespace, filter and words, or by meaning with the
memory's own embedder; expired items are not returned. Namespaces that end in `("ricordo", "facts")` or `("ricordo",
"messages")` are read-only views of the memory itself.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from ricordo.contrib.shared import (
    ItemCollection,
    UserSource,
    awaited,
    check_user_source,
    owner_of,
    parts,
    path,
    user_of,
)
from ricordo.errors import ValidationError
from ricordo.memory import Memory
from ricordo.records.service import StoredItem
from ricordo.records.turns import DEFAULT_AGENT, Owner
from ricordo.stores.service_protocols import ItemTransaction

ITEMS = "langgraph.store"  # place: the labels of a namespace; key: the item's
FACTS, MESSAGES = ("ricordo", "facts"), ("ricordo", "messages")

Namespace = tuple[str, ...]


class RicordoStore(BaseStore):
    """Items of a graph, scoped to a user.

    `user_id` is an id, or a function that reads it from a namespace, for one graph that serves many:
    `lambda namespace: namespace[1]`. A search or a listing that does not reach that label is refused. `ranking` says
    what a query is compared by: `words`, or `meaning`, which embeds the texts at `fields` as they are put.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: UserSource[Namespace],
        agent_id: str = DEFAULT_AGENT,
        ranking: Literal["words", "meaning"] = "words",
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        check_user_source(user_id)
        if ranking not in ("words", "meaning"):
            raise ValidationError("ranking", f"expected words or meaning, got {ranking!r}")
        self._memory = memory
        self._user_source = user_id
        self._agent = agent_id
        self._ranking = ranking
        self._fields = tuple(fields)
        self._items = ItemCollection(memory, ITEMS)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads see the state before, writes are one transaction per user."""
        given = list(ops)
        results: list[Result] = [None] * len(given)
        puts: dict[Owner, dict[tuple[Namespace, str], PutOp]] = {}
        for position, op in enumerate(given):
            validate_op_namespace(op)
            owner = owner_of(self._memory, user_of(self._user_source, _reach(op)))
            if isinstance(op, PutOp):
                if op.namespace[-2:] in (FACTS, MESSAGES):
                    raise ValidationError("namespace", f"{op.namespace} is read-only; use another namespace")
                puts.setdefault(owner, {})[op.namespace, op.key] = op
            else:
                results[position] = self._read(owner, op)
        for owner, wanted in puts.items():
            items = [(op, self._item(op)) for op in wanted.values()]
            self._items.write(owner, partial(_put, items))
        return results

    abatch = awaited(batch)

    def sweep_ttl(self, user_id: str) -> int:
        """Delete a user's expired items and return their number. They are never returned by reads."""
        return self._items.sweep(owner_of(self._memory, user_id))

    def _read(self, owner: Owner, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        match op:
            case GetOp():
                return self._get(owner, op)
            case SearchOp():
                return self._search(owner, op)
            case ListNamespacesOp():
                return _namespaces(self._items.read(owner, lambda transaction: transaction.places()), op)
        raise ValidationError("ops", f"{type(op).__name__} is not an operation of a store")

    def _get(self, owner: Owner, op: GetOp) -> Item | None:
        if op.namespace[-2:] in (FACTS, MESSAGES):
            shown = self._shown(owner, SearchOp(op.namespace, limit=10_000))
            return next((each for each in shown if each.key == op.key), None)
        found = self._items.read(owner, lambda transaction: transaction.get(path(*op.namespace), op.key))
        if found is None:
            return None
        if found.minutes is not None:
            self._renew(owner, [found], wanted=op.refresh_ttl)
        assert found.created_at is not None
        assert found.updated_at is not None
        return Item(
            value=json.loads(found.body),
            key=found.key,
            namespace=tuple(op.namespace),
            created_at=found.created_at,
            updated_at=found.updated_at,
        )

    def _search(self, owner: Owner, op: SearchOp) -> list[SearchItem]:
        if op.namespace_prefix[-2:] in (FACTS, MESSAGES):
            return self._shown(owner, op)[op.offset : op.offset + op.limit]
        found = self._items.read(owner, lambda transaction: transaction.find(path(*op.namespace_prefix)))
        loaded = [(item, _fields(item)) for item in found]
        fitting = [(item, fields) for item, fields in loaded if _fits(fields["value"], op.filter or {})]
        fitting.sort(key=lambda pair: (pair[1]["updated_at"], pair[0].key), reverse=True)
        scores = self._scores(op.query, [item for item, _ in fitting]) if op.query else [None] * len(fitting)
        ranked = list(zip(fitting, scores, strict=True))
        if op.query:  # items that are not indexed come last
            ranked.sort(key=lambda pair: 2.0 if pair[1] is None else -pair[1])
        page = ranked[op.offset : op.offset + op.limit]
        self._renew(owner, [item for (item, _), _ in page], wanted=op.refresh_ttl)
        return [SearchItem(**fields, score=score) for (_, fields), score in page]

    def _shown(self, owner: Owner, op: SearchOp) -> list[SearchItem]:
        """The memory itself: current facts, or messages that match the query."""
        if op.namespace_prefix[-2:] == MESSAGES:
            return self._messages(owner, op)
        away = {flag.subject_id for flag in self._memory.flags(owner.user_id, state="quarantined")}
        facts = [fact for fact in self._memory.facts(owner.user_id, self._agent) if fact.id not in away]
        shown = []
        for fact in facts:
            value = {"text": fact.text, "kind": fact.kind, "about": fact.about, "origin": fact.origin}
            if _fits(value, op.filter or {}):
                score = _said(op.query, [fact.text]) if op.query else None
                times = {"created_at": fact.recorded_at, "updated_at": fact.valid_from}
                shown.append(SearchItem(op.namespace_prefix, fact.id, value, **times, score=score))
        return sorted(shown, key=lambda each: -(each.score or 0.0))

    def _messages(self, owner: Owner, op: SearchOp) -> list[SearchItem]:
        if not op.query:
            return []
        hits = self._memory.search(op.query, user_id=owner.user_id, limit=op.offset + op.limit)
        shown = []
        for hit in hits:
            value = {"text": hit.text, "role": hit.message.role, "session_id": hit.session_id, "why": [*hit.reasons]}
            if _fits(value, op.filter or {}):
                when = hit.message.created_at
                shown.append(SearchItem(op.namespace_prefix, hit.message_id, value, when, when, score=hit.score))
        return shown

    def _renew(self, owner: Owner, found: Sequence[StoredItem], *, wanted: bool) -> None:
        """Restart the time to live of items that were read."""
        mortal = [item for item in found if item.minutes is not None] if wanted else []
        if mortal:
            self._items.write(owner, partial(_renew, mortal))

    def _item(self, op: PutOp) -> StoredItem:
        if op.value is None:
            return StoredItem(path(*op.namespace), op.key, b"")
        try:
            body = json.dumps(op.value, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise ValidationError("value", f"is not JSON ({error}); use text, numbers, lists and mappings") from error
        vector = None if op.index is False else self._vector(op.value, op.index or self._fields)
        tag = "unranked" if op.index is False else ""
        return StoredItem(path(*op.namespace), op.key, body, tag, vector, minutes=op.ttl)

    def _vector(self, value: Mapping[str, Any], fields: Sequence[str]) -> bytes | None:
        """The name of the embedder and a vector of 32-bit numbers for each text."""
        texts = _texts(value, fields) if self._ranking == "meaning" else []
        if not texts:
            return None
        embedder = self._memory.embedder
        return embedder.name.encode() + b"\x00" + np.asarray(embedder.embed_passages(texts), np.float32).tobytes()

    def _scores(self, query: str, items: Sequence[StoredItem]) -> list[float | None]:
        """The score of each item for a query; None for items that are not indexed."""
        if self._ranking == "words":
            return [None if item.tag else _said(query, _texts(json.loads(item.body), self._fields)) for item in items]
        embedder = self._memory.embedder
        name, wanted = embedder.name.encode() + b"\x00", np.asarray(embedder.embed_query(query), np.float32)
        scores: list[float | None] = []
        for item in items:
            if item.vector is None or not item.vector.startswith(name):
                scores.append(None)
                continue
            rows = np.frombuffer(item.vector[len(name) :], np.float32).reshape(-1, len(wanted))
            scores.append(float(np.max(rows @ wanted)))
        return scores


def _put(items: Sequence[tuple[PutOp, StoredItem]], transaction: ItemTransaction) -> None:
    for op, item in items:
        if op.value is None:
            transaction.remove(item.place, item.key)
        else:
            transaction.put(item)


def _renew(items: Sequence[StoredItem], transaction: ItemTransaction) -> None:
    for item in items:
        transaction.renew(item)


def _reach(op: Op) -> Namespace:
    match op:
        case SearchOp():
            return tuple(op.namespace_prefix)
        case ListNamespacesOp():
            prefixes = [tuple(each.path) for each in op.match_conditions or () if each.match_type == "prefix"]
            return tuple(label for label in (prefixes or [()])[0] if label != "*")
    return tuple(op.namespace)


def _fields(item: StoredItem) -> dict[str, Any]:
    return {
        "namespace": parts(item.place),
        "key": item.key,
        "value": json.loads(item.body),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _namespaces(places: Sequence[str], op: ListNamespacesOp) -> list[Namespace]:
    found = [parts(place) for place in places]
    matching = [each for each in found if all(_matches(condition, each) for condition in op.match_conditions or ())]
    cut = sorted({each[: op.max_depth] for each in matching})
    return cut[op.offset : op.offset + op.limit]


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    wanted = tuple(condition.path)
    if len(namespace) < len(wanted):
        return False
    part = namespace[: len(wanted)] if condition.match_type == "prefix" else namespace[len(namespace) - len(wanted) :]
    return all(label in ("*", own) for label, own in zip(wanted, part, strict=True))


def _fits(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether a value matches a filter; a comparison of values without an order is false."""
    return isinstance(value, Mapping) and all(_answers(_at(value, key), each) for key, each in wanted.items())


def _at(value: Mapping[str, Any], key: str) -> Any:
    """The value of a key; if there is no such key, of a path with dots."""
    if key in value or "." not in key:
        return value.get(key)
    first, _, rest = key.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if isinstance(inner, Mapping) else None


def _answers(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if not any(key.startswith("$") for key in wanted):
        return _fits(value, wanted)
    return all(_compares(value, operator, other) for operator, other in wanted.items())


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator == "$eq":
        return bool(value == other)
    if operator == "$ne":
        return bool(value != other)
    try:
        match operator:
            case "$gt":
                return bool(value > other)
            case "$gte":
                return bool(value >= other)
            case "$lt":
                return bool(value < other)
            case "$lte":
                return bool(value <= other)
    except TypeError:
        return False
    raise ValidationError("filter", f"operator {operator!r} is unknown; use $eq, $ne, $gt, $gte, $lt, $lte")


def _texts(value: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    return [
        text for field in fields for text in get_text_at_path(value, field if field == "$" else tokenize_path(field))
    ]


def _said(query: str, texts: Sequence[str]) -> float:
    """The share of a query's words in a text, from 0 to 1."""
    from ricordo.recall.evidence import question_words, terms

    asked = question_words(query)
    said = {int(term) for text in texts for term in terms(text)}
    return sum(any(form in said for form in forms) for _, forms in asked) / len(asked) if asked else 0.0
