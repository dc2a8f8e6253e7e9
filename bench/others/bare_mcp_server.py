"""What the SDK itself takes: a server with one tool, which keeps the todos in a list."""

from mcp.server import MCPServer
from pydantic import BaseModel

server = MCPServer("bare")
kept: list[object] = []


class Item(BaseModel):
    content: str
    status: str


class Answer(BaseModel):
    summary: str
    todos: list[Item]


@server.tool()
def todo_write(todos: list[Item]) -> Answer:
    kept[:] = todos
    return Answer(summary=f"{len(todos)} todos", todos=todos)


server.run()
