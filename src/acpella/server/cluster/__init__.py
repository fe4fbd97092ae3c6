"""Several nodes that serve the same clients, joined by nothing but the database that they share.

A connection has a **home**: the node where its agent runs. Its row has whose it is, how its client began and
which sessions it has open (`Facts`), so that another node can go on with it. Nodes never call each other:

- Client → agent. What reaches the home itself is recorded as a command that runs, then given to the agent.
  What reaches another node (a *gateway*) is submitted as a command, which the home runs. The number that the
  client gave a message is the command's id, so one that is sent again is the same command on any node. What
  only a living turn can want, answers to questions and confirmations, is not recorded on the home.
- Agent → client. Messages are numbered and written to the connection's stream, many to a commit, before any
  reader sees them, on the home as elsewhere; the answer to a command settles it in the same commit. A reader
  at the home then gets them from memory; a gateway tails the stream. Gateways join and leave streams by
  commands, so the home alone decides who reads what, and says so by entries on the same stream.
- A home that dies is replaced by the node that needs the connection next, or that looks for what dead nodes
  left. It builds the agent's end again from the facts, tells it which sessions are open, answers what was
  interrupted with an error whose reason is "interrupted", and goes on with the same id and the same numbers.
  A turn never runs again by itself; commands that had not begun do run.
- A node that cannot renew its lease stops its turns by its own clock, before others may take what it had.

Connections of hosted commands, and of the transports that name no connection, stay on the node where they
began: a cookie tells a load balancer which one that is.
"""
