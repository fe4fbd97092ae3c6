// The page: a conversation with an agent.
import { Page } from "./view/page";
import { render } from "./libraries";
import { connection } from "./store";

render(<Page />, document.getElementById("app")!);
void connection.start();
