"""A LangGraph checkpointer in the database of a memory, for one user or for many.

In: checkpoints and pending writes. Out: the same, by thread. The value of a channel is stored once per version, not
once per checkpoint; threads can be pruned, copied and deleted by run, or limited from the start with `keep`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

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
from ricordo.limits import check_number
from ricordo.memory import Memory
from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.service_protocols import ItemTransaction

T = TypeVar("T")

CHECKPOINTS = "langgraph.checkpoints"  # place: thread, namespace; key: checkpoint id; tag: run id
CHANNELS = "langgraph.channels"  # place: thread, namespace, channel; key: version
WRITES = "langgraph.writes"  # place: thread, namespace, checkpoint id; key: task id and index
PAGE = 100
COUNTERS = "counters_since_delta_snapshot"  # names the channels that are stored only as writes


class RicordoSaver(BaseCheckpointSaver[str]):
    """Checkpoints in the database of a memory.

    `user_id` is an id, or a function that reads it from the config of a call, for one graph that serves many:
    `lambda config: config["configurable"]["user_id"]`. Calls that come without a config (deleting, copying, pruning)
    then go through `saver.of(user_id)`. `keep` is how many checkpoints of a thread stay; None keeps all of them.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: UserSource[RunnableConfig],
        keep: int | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        check_user_source(user_id)
        self._memory = memory
        self._user_source = user_id
        self._keep = None if keep is None else check_number("keep", keep)
        self._items = ItemCollection(memory, CHECKPOINTS)

    def of(self, user_id: str) -> "RicordoSaver":
        """The same saver for one user."""
        return RicordoSaver(self._memory, user_id=user_id, keep=self._keep, serde=self.serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the newest of its thread."""
        place, wanted = _place(config), get_checkpoint_id(config)

        def look(transaction: ItemTransaction) -> CheckpointTuple | None:
            if wanted:
                found = transaction.get(place, wanted)
            else:
                found = next(iter(transaction.find(place, newest_first=True, limit=1)), None)
            return self._tuple(transaction, found) if found else None

        return self._items.read(self._owner(config), look)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints of a thread, newest first; of all threads of the user without a config."""
        owner, prefix = self._owner(config), _prefix(config)
        named = get_checkpoint_id(config) if config else None
        below = get_checkpoint_id(before) if before else None
        left = limit
        while left is None or left > 0:
            size = PAGE if left is None or filter else min(left, PAGE)
            look = partial(self._page, prefix=prefix, named=named, before=below, conditions=filter or {}, size=size)
            found, below = self._items.read(owner, look)
            yield from found if left is None else found[:left]
            left = None if left is None else left - len(found)
            if below is None:
                return

    def _page(
        self,
        transaction: ItemTransaction,
        *,
        prefix: str,
        named: str | None,
        before: str | None,
        conditions: dict[str, Any],
        size: int,
    ) -> tuple[Sequence[CheckpointTuple], str | None]:
        """The checkpoints of one page that match the filter, and where the next page begins; None after the last."""
        items = transaction.find(prefix, key=named, before=before, newest_first=True, limit=size)
        full = len(items) == size
        if full:  # one id may be in several namespaces: a page must not end between them
            known = {item.place for item in items if item.key == items[-1].key}
            items += [each for each in transaction.find(prefix, key=items[-1].key) if each.place not in known]
        tuples = [self._tuple(transaction, item) for item in items if not conditions or self._matches(item, conditions)]
        return tuples, items[-1].key if full else None

    def _matches(self, item: StoredItem, wanted: dict[str, Any]) -> bool:
        metadata = self._loads(item.body)["metadata"]
        return all(metadata.get(key) == value for key, value in wanted.items())

    def _tuple(self, transaction: ItemTransaction, item: StoredItem) -> CheckpointTuple:
        body, (thread, namespace) = self._loads(item.body), parts(item.place)
        checkpoint: Checkpoint = body["checkpoint"]
        versions = checkpoint["channel_versions"]
        wanted = [(path(thread, namespace, channel), str(version)) for channel, version in versions.items()]
        channels = {parts(each.place)[2]: each.body for each in transaction.on(CHANNELS).get_all(wanted)}
        values = {channel: self._loads(channels[channel]) for channel in versions if channels.get(channel)}
        writes = [self._loads(each.body) for each in transaction.on(WRITES).find(path(thread, namespace, item.key))]
        writes.sort(key=lambda write: writes_sort_key(write[0], write[1], write[2]))
        parent = body["parent"]
        return CheckpointTuple(
            config=self._config(thread, namespace, item.key, body.get("user")),
            checkpoint={**checkpoint, "channel_values": values},
            metadata=body["metadata"],
            parent_config=self._config(thread, namespace, parent, body.get("user")) if parent else None,
            pending_writes=[(task, channel, value) for _, task, _, channel, value in writes],
        )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and the changed channels in one transaction."""
        owner, place = self._owner(config), _place(config)
        thread, namespace = parts(place)
        bare = dict(checkpoint)
        values: dict[str, Any] = bare.pop("channel_values", {})  # type: ignore[assignment]
        tagged = get_checkpoint_metadata(config, metadata)
        user = owner.user_id if callable(self._user_source) else None
        body = {"checkpoint": bare, "metadata": tagged, "parent": get_checkpoint_id(config), "user": user}
        item = StoredItem(place, checkpoint["id"], self._dumps(body), str(tagged.get("run_id") or ""))
        channels = [
            StoredItem(
                path(thread, namespace, channel),
                str(version),
                self._dumps(values[channel]) if channel in values else b"",
            )
            for channel, version in new_versions.items()
        ]

        def keep(transaction: ItemTransaction) -> None:
            for channel in channels:
                transaction.on(CHANNELS).put(channel)
            transaction.put(item)
            if self._keep is not None:
                self._shorten(transaction, place, self._keep)

        self._items.write(owner, keep)
        return self._config(thread, namespace, checkpoint["id"], user)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task before its checkpoint; storing them again changes nothing."""
        thread, namespace = parts(_place(config))
        place = path(thread, namespace, config["configurable"]["checkpoint_id"])
        rows = []
        for position, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, position)
            body = self._dumps((task_path, task_id, index, channel, value))
            rows.append((StoredItem(place, path(task_id, str(index)), body), index < 0))

        def keep(transaction: ItemTransaction) -> None:
            for item, over in rows:
                transaction.on(WRITES).put(item, replace=over)

        self._items.write(self._owner(config), keep)

    def delete_thread(self, thread_id: str) -> None:
        """Remove everything of a thread."""
        self._write(partial(_delete, thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that these runs made, with their writes."""

        def delete(transaction: ItemTransaction) -> None:
            gone = [item for run in run_ids for item in transaction.find(tag=str(run))]
            self._drop(transaction, gone)

        self._write(delete)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with history and pending writes, replacing the target."""

        def copy(transaction: ItemTransaction) -> None:
            _delete(target_thread_id, transaction)
            for collection in (CHECKPOINTS, CHANNELS, WRITES):
                there = transaction.on(collection)
                for item in there.find(path(source_thread_id)):
                    place = path(target_thread_id, *parts(item.place)[1:])
                    there.put(StoredItem(place, item.key, item.body, item.tag))

        if source_thread_id != target_thread_id:
            self._write(copy)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace and what it is rebuilt from, or (`delete`) nothing."""
        if strategy not in ("keep_latest", "delete"):
            raise ValidationError("strategy", f"expected keep_latest or delete, got {strategy!r}")

        def prune(transaction: ItemTransaction) -> None:
            for thread in thread_ids:
                if strategy == "delete":
                    _delete(thread, transaction)
                else:
                    for place in transaction.places(path(thread)):
                        self._shorten(transaction, place, 1)

        self._write(prune)

    def _shorten(self, transaction: ItemTransaction, place: str, most: int) -> None:
        """Keep the newest checkpoints of a place, and those that their delta channels are rebuilt from."""
        items = transaction.find(place, newest_first=True)
        if len(items) <= most:
            return
        by_id = {item.key: item for item in items}
        needed = {item.key for item in items[:most]}
        for item in items[:most]:
            needed |= self._ancestry(transaction, item, by_id)
        self._drop(transaction, [item for item in items if item.key not in needed])
        writes = transaction.on(WRITES)
        for late in writes.find(place):  # a task may write after its checkpoint was deleted
            checkpoint = parts(late.place)[2]
            if checkpoint not in needed and checkpoint < items[0].key:
                writes.remove(late.place, late.key)

    def _ancestry(self, transaction: ItemTransaction, item: StoredItem, by_id: dict[str, StoredItem]) -> set[str]:
        """The ancestors that the delta channels of a checkpoint are rebuilt from, back to where each has a value."""
        body = self._loads(item.body)
        waiting = set(body["metadata"].get(COUNTERS) or ()) - self._held(transaction, item)
        needed: set[str] = set()
        while waiting and (parent := by_id.get(body["parent"] or "")) is not None:
            needed.add(parent.key)
            waiting -= self._held(transaction, parent)
            body = self._loads(parent.body)
        return needed

    def _held(self, transaction: ItemTransaction, item: StoredItem) -> set[str]:
        """The channels that have a value in a checkpoint."""
        versions = self._loads(item.body)["checkpoint"]["channel_versions"]
        wanted = [(path(*parts(item.place), channel), str(version)) for channel, version in versions.items()]
        return {parts(each.place)[2] for each in transaction.on(CHANNELS).get_all(wanted) if each.body}

    def _drop(self, transaction: ItemTransaction, gone: Sequence[StoredItem]) -> None:
        """Remove checkpoints with their writes, and the versions of channels that none of the others names."""
        for item in gone:
            transaction.remove(item.place, item.key)
            transaction.on(WRITES).remove_under(path(*parts(item.place), item.key))
        for place in {item.place for item in gone}:
            named = {
                (path(*parts(place), channel), str(version))
                for item in transaction.find(place)
                for channel, version in self._loads(item.body)["checkpoint"]["channel_versions"].items()
            }
            channels = transaction.on(CHANNELS)
            for stored in channels.find(place):
                if (stored.place, stored.key) not in named:
                    channels.remove(stored.place, stored.key)

    aget_tuple = awaited(get_tuple)
    aput = awaited(put)
    aput_writes = awaited(put_writes)
    adelete_thread = awaited(delete_thread)
    adelete_for_runs = awaited(delete_for_runs)
    acopy_thread = awaited(copy_thread)
    aprune = awaited(prune)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        found = self.list(config, **options)
        while (each := await asyncio.to_thread(next, found, None)) is not None:
            yield each

    def get_next_version(self, current: str | None, channel: None) -> str:
        """A version that sorts after the current one and is unique among writers."""
        reached = current if isinstance(current, int) else int(str(current or 0).partition(".")[0])
        return f"{reached + 1:032}.{random.random():016}"

    def _owner(self, config: RunnableConfig | None) -> Owner:
        return owner_of(self._memory, user_of(self._user_source, config or {}))

    def _write(self, work: Callable[[ItemTransaction], T]) -> T:
        """A transaction of the one user that this saver is for."""
        if callable(self._user_source):
            raise ValidationError("user_id", "this call names no user; call it on saver.of(user_id)")
        return self._items.write(owner_of(self._memory, self._user_source), work)

    def _config(self, thread: str, namespace: str, checkpoint: str, user: str | None) -> RunnableConfig:
        place = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        return {"configurable": place | ({"user_id": user} if user else {})}

    def _dumps(self, value: Any) -> bytes:
        kind, data = self.serde.dumps_typed(value)
        return kind.encode() + b"\x00" + data

    def _loads(self, body: bytes) -> Any:
        kind, _, data = body.partition(b"\x00")
        return self.serde.loads_typed((kind.decode(), data))


def _place(config: RunnableConfig) -> str:
    where = config["configurable"]
    return path(str(where["thread_id"]), where.get("checkpoint_ns", ""))


def _prefix(config: RunnableConfig | None) -> str:
    if config is None or "thread_id" not in config.get("configurable", {}):
        return ""
    where = config["configurable"]
    namespace: Iterable[str] = () if where.get("checkpoint_ns") is None else (where["checkpoint_ns"],)
    return path(str(where["thread_id"]), *namespace)


def _delete(thread_id: str, transaction: ItemTransaction) -> None:
    for collection in (CHECKPOINTS, CHANNELS, WRITES):
        transaction.on(collection).remove_under(path(thread_id))
