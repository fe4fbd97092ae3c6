// The page: a conversation with an agent.
import { Page } from "./view/page";
import { warmUp } from "./view/markdown";
import { render } from "./libraries";
import { connection } from "./store";

render(<Page />, document.getElementById("app")!);
void connection.start();
const later = "requestIdleCallback" in window ? requestIdleCallback : setTimeout;
later(() => warmUp());
