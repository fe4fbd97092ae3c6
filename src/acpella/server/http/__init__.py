"""How clients reach their connections: Streamable HTTP, WebSocket, and the profiles of other clients."""
