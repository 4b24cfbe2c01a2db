"""What a session comes to: the context of its next question, receipts of past ones, its end, its summaries."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from ricordo.limits import LARGEST
from ricordo.server.asking import Asking, Limit
from ricordo.server.shapes import people, talks
from ricordo.server.showing import clarification_out, fact_out, reference_out, session_out, summary_out, turn_numbers

router = APIRouter(prefix="/sessions/{session_id}", tags=["sessions"])


@router.get("/context", response_model=talks.ContextOut)
def context(
    session_id: str,
    person: Asking,
    question: Annotated[str, Query(min_length=1)],
    budget: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> dict[str, Any]:
    """What would be sent to a model for this question, with the receipt. Nothing is kept."""
    built = person.session(session_id).context(question, budget=budget)
    return {
        "messages": list(built.messages),
        "prompt": built.prompt,
        "question": built.question,
        "references": [reference_out(each) for each in built.references],
        "clarification": clarification_out(built.clarification),
        "receipt": built.receipt.as_json(),
    }


@router.get("/receipts", response_model=talks.ReceiptsOut)
def receipts(session_id: str, person: Asking, limit: Limit = 50) -> dict[str, Any]:
    """What past contexts held and why, newest first."""
    session = person.session(session_id)
    return {"items": [receipt.as_json() for receipt in session.receipts(limit=limit)]}


@router.get("/receipts/{turn_number}", response_model=talks.RebuiltOut)
def receipt(session_id: str, turn_number: Annotated[int, Path(ge=1, le=LARGEST)], person: Asking) -> dict[str, Any]:
    """The context of a past turn, rebuilt to the byte, with its receipt."""
    rebuilt = person.session(session_id).rebuild(turn_number)
    return {"receipt": rebuilt.receipt.as_json(), "messages": list(rebuilt.messages), "prompt": rebuilt.prompt}


@router.get("/summaries", response_model=people.SummariesOut)
def summaries(session_id: str, person: Asking, limit: Limit = 50) -> dict[str, Any]:
    """Summaries with the turns that they cover, newest first."""
    return {"items": [summary_out(each) for each in person.session(session_id).summaries(limit=limit)]}


@router.post("/forget-derived", response_model=people.Removed)
def forget_derived(session_id: str, person: Asking) -> dict[str, int]:
    """Undo what was derived from a session: summaries, and facts that were said nowhere else."""
    return {"removed": person.session(session_id).forget_derived()}


@router.post("/end", response_model=talks.EndOut)
def end(session_id: str, person: Asking) -> dict[str, Any]:
    """End a session: its summary, the facts learned in it, its topics. Safe to repeat."""
    ended = person.session(session_id).end()
    where = turn_numbers(person.memory.store, person.owner, ended.facts)
    return {
        "session": session_out(ended.session),
        "summary": summary_out(ended.summary) if ended.summary else None,
        "facts": [fact_out(fact, where) for fact in ended.facts],
        "topics": list(ended.topics),
        "made_by": ended.made_by,
    }
