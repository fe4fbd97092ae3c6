// The inspector's page: a recording on a server, or in this very file.
import { render } from "./libraries";
import { InspectorPage } from "./inspect/page";
import { EmbeddedSource, ServerSource } from "./inspect/sources";
import { problem, start } from "./inspect/state";

render(<InspectorPage />, document.getElementById("app")!);

const embedded = document.getElementById("recording")?.textContent;
if (embedded) void start(new EmbeddedSource(embedded));
else {
  const server = new ServerSource();
  server.logIn().then(() => start(server), (error: unknown) => (problem.value = String(error instanceof Error ? error.message : error)));
}
