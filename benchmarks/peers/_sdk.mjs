// The official TypeScript SDK, found in the folder that ACPELLA_PEER_NODE_MODULES names.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.env.ACPELLA_PEER_NODE_MODULES;
if (!folder) {
  throw new Error("ACPELLA_PEER_NODE_MODULES must name the node_modules folder with the SDK");
}
const require = createRequire(join(folder, "peer.js"));
export const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));

/** So many characters that look like base64. */
export function image(size) {
  return "iVBORw0KGgo+/AAA".repeat(Math.floor(size / 16) + 1).slice(0, size);
}

/** CPU seconds of this process so far. */
export function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
