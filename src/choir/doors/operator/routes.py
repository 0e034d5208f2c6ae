"""Operators' browser sessions: a code by token, a session by code, and out again; and what the node is at."""

from __future__ import annotations

from fastapi import Request, Response

from choir.doors.http.access import AccessRoute, AddressDep, AnyoneDep, NodeDep, OperatorDep
from choir.doors.http.cookies import clear_operator_session, operator_session_token, set_operator_session
from choir.doors.http.openapi import problems
from choir.doors.http.paging import Limit
from choir.doors.http.rooms import RoomRouter
from choir.doors.operator.shapes import OperatorCodeIn, OperatorCodeOut, OperatorSessionOut
from choir.doors.operator.work import look
from choir.doors.operator.work_shapes import WorkOut
from choir.foundation.clock import format_time
from choir.identity.credentials.operator_sessions import OperatorSessions
from choir.identity.credentials.tries import settled

router = RoomRouter(tags=["operators"], route_class=AccessRoute, prefix="/operator")


@router.post("/codes", status_code=201)
def make_operator_code(request: Request, who: OperatorDep, node: NodeDep) -> OperatorCodeOut:
    """Get a URL with a one-time code that starts a browser session. Needs the operator's token."""
    mark = request.app.state.operators.mark
    made = node.write(lambda tx: node.of(OperatorSessions).new_code(tx, who, mark))
    url = f"{node.settings.public_url}/operator/enter#{made.text}"
    return OperatorCodeOut(url=url, expires_at=format_time(made.expires_us))


@router.post("/enter", responses=problems(429))
def enter_as_operator(
    body: OperatorCodeIn, request: Request, _: AnyoneDep, address: AddressDep, node: NodeDep, response: Response
) -> OperatorSessionOut:
    """Start an operator's browser session with a one-time code; sets a cookie of its own."""
    mark = request.app.state.operators.mark
    entered = settled(node.database, lambda tx: node.of(OperatorSessions).enter(tx, body.code, mark, address=address))
    set_operator_session(response, node, entered.token)
    return OperatorSessionOut(operator=entered.session.source, expires_at=format_time(entered.session.expires_us))


@router.post("/leave", status_code=204)
def leave_as_operator(request: Request, _: OperatorDep, node: NodeDep, response: Response) -> None:
    """End this operator's browser session."""
    token = operator_session_token(request, node)
    if token is not None:
        node.write(lambda tx: node.of(OperatorSessions).leave(tx, token))
    clear_operator_session(response, node)


@router.get("/work")
def get_work(who: OperatorDep, node: NodeDep, limit: Limit = 20) -> WorkOut:
    """See background tasks, subscribers of events, jobs by state and providers online, so many of each."""
    with node.read() as tx:
        return WorkOut.of(look(node, tx, who, limit))
