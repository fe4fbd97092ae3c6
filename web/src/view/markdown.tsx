// Markdown as nodes: tokens of the reader become elements here, and HTML in it stays text. There is no markup sink.
import { Component, lexer, useState, type ComponentChildren, type Token, type Tokens } from "../libraries";
import { linkOf } from "../text/links";
import { amount } from "../text/times";
import { Code } from "./code";
import { Icon } from "./icons";
import { Visible } from "./parts";

/** A text beyond this is shown as it is; reading it as Markdown would hold up the page. */
const MOST = 400_000;
/** Characters of such a text at its beginning and its end. */
const ENDS = 10_000;

/** Blocks that are looked at together: in a long answer only the last of these groups changes. */
const CHUNK = 24;

interface Props {
  text: string;
  done: boolean;
}

/** The reader's expressions are compiled when they are first used: better now than in the first frame of an answer. */
export function warmUp(): void {
  const all = "# a\n\nb *c* **d** `e` [f](g) <h> ~~i~~ https://j.k\n\n- l\n  1. m\n\n> n\n\n```o\np\n```\n\n| q |\n|---|\n| r |\n";
  for (let round = 0; round < 20; round++) lexer(all);
}

/** Streams: blocks that are complete are kept, only the tail is read again. */
export class Markdown extends Component<Props> {
  #settled: Token[][] = [[]];
  #at = 0;
  #seen = "";

  override shouldComponentUpdate(next: Props): boolean {
    return next.text !== this.props.text || next.done !== this.props.done;
  }

  override render({ text, done }: Props) {
    if (text.length > MOST) return <Long text={text} />;
    if (!text.startsWith(this.#seen.slice(0, 64)) || text.length < this.#at) this.#reset();
    this.#seen = text;
    const tail = read(text.slice(this.#at));
    // the last block may grow, and the one before it may become part of it
    while (tail.length > 2) {
      const block = tail.shift()!;
      if (this.#settled.at(-1)!.length >= CHUNK) this.#settled.push([]);
      this.#settled.at(-1)!.push(block);
      this.#at += block.raw.length;
    }
    return (
      <>
        {this.#settled.map((tokens, index) => <Settled key={index} tokens={tokens} count={tokens.length} />)}
        {tail.map((token, index) => <Block key={`t${index}`} token={token} settled={done} />)}
      </>
    );
  }

  #reset(): void {
    this.#settled = [[]];
    this.#at = 0;
  }
}

/** A text of which nobody reads all: its ends, and the whole on demand. */
function Long({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  if (all) return <pre class="plain">{text}</pre>;
  return (
    <>
      <pre class="plain">{text.slice(0, ENDS)}</pre>
      <div class="term-cut"><span>{`${amount(text.length - 2 * ENDS)} characters are not shown`}</span><button type="button" class="linkish" onClick={() => setAll(true)}>Show all</button></div>
      <pre class="plain">{text.slice(-ENDS)}</pre>
    </>
  );
}

class Settled extends Component<{ tokens: Token[]; count: number }> {
  override shouldComponentUpdate(next: { count: number }): boolean {
    return next.count !== this.props.count;
  }

  override render({ tokens }: { tokens: Token[]; count: number }): ComponentChildren {
    const blocks = tokens.map((token, index) => <Block key={index} token={token} settled />);
    // a group that is full is laid out only while it can be seen
    return tokens.length < CHUNK ? blocks : <div class="settled">{blocks}</div>;
  }
}

function read(text: string): Token[] {
  try {
    return lexer(text, { gfm: true });
  } catch {
    return [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text }] } as Token];
  }
}

/** A block that is settled never changes again. */
class Block extends Component<{ token: Token; settled: boolean }> {
  override shouldComponentUpdate(next: { token: Token; settled: boolean }): boolean {
    return next.token.raw !== this.props.token.raw || next.settled !== this.props.settled;
  }

  override render({ token, settled }: { token: Token; settled: boolean }): ComponentChildren {
    return block(token, settled);
  }
}

function block(token: Token, settled: boolean): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const inside = inline((token as Tokens.Heading).tokens);
      return (token as Tokens.Heading).depth <= 2 ? <h2>{inside}</h2> : <h3>{inside}</h3>;
    }
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "text":
      return <p>{inline((token as Tokens.Text).tokens ?? [token])}</p>;
    case "code": {
      const code = token as Tokens.Code;
      return <Code text={code.text} language={(code.lang ?? "").split(/\s/)[0] ?? ""} settled={settled} />;
    }
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, settled)}</blockquote>;
    case "hr":
      return <hr />;
    case "list":
      return list(token as Tokens.List, settled);
    case "table":
      return table(token as Tokens.Table);
    case "html":
      return <p class="as-is">{token.raw.trim()}</p>;
    default:
      return <p>{token.raw}</p>;
  }
}

const blocks = (tokens: Token[], settled: boolean): ComponentChildren => tokens.map((token, index) => <Block key={index} token={token} settled={settled} />);

function list(token: Tokens.List, settled: boolean): ComponentChildren {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task && <span class="task-box" role="img" aria-label={item.checked ? "done" : "open"}>{item.checked && <Icon name="check" size={11} />}</span>}
      {item.tokens.filter((one) => one.type !== "checkbox").map((one, at) => (one.type === "text" ? <span key={at}>{inline((one as Tokens.Text).tokens ?? [one])}</span> : <Block key={at} token={one} settled={settled} />))}
    </li>
  ));
  return token.ordered ? <ol start={typeof token.start === "number" ? token.start : 1}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): ComponentChildren {
  const side = (index: number): string | undefined => (token.align[index] === "right" ? "end" : token.align[index] === "center" ? "mid" : undefined);
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>{token.header.map((cell, index) => <th key={index} class={side(index)}>{inline(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>{row.map((cell, index) => <td key={index} class={side(index)}>{inline(cell.tokens)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ComponentChildren {
  switch (token.type) {
    case "text":
    case "escape": {
      const inner = (token as Tokens.Text).tokens;
      return inner !== undefined && inner.length > 0 ? inline(inner) : <Visible text={unescape((token as Tokens.Text).text)} />;
    }
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <s>{inline((token as Tokens.Del).tokens)}</s>;
    case "codespan":
      return <code><Visible text={unescape((token as Tokens.Codespan).text)} /></code>;
    case "br":
      return <br />;
    case "link": {
      const link = token as Tokens.Link;
      return <Anchor href={link.href} text={link.text}>{inline(link.tokens)}</Anchor>;
    }
    case "image": {
      const image = token as Tokens.Image;
      return <Elsewhere what="image" href={image.href} text={image.text} />;
    }
    default:
      return <Visible text={token.raw} />;
  }
}

/** Some tokens come with entities for markup that is never made. */
function unescape(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name] ?? whole);
}

/** A link that says where it leads when its words do not. */
export function Anchor({ href, text, children }: { href: string; text: string; children: ComponentChildren }) {
  const link = linkOf(href, text);
  if (link === null) return <span class="no-link" title={href}>{children}</span>;
  return (
    <>
      <a href={link.href} target="_blank" rel="noopener noreferrer" title={link.href}>{children}</a>
      {(link.deceives || !text.includes(link.host)) && <span class={link.deceives ? "leads wrong" : "leads"}>{link.deceives && <Icon name="alert" size={12} />}{link.host}</span>}
    </>
  );
}

/** What lies elsewhere is never fetched: a request would tell that server what was read. */
export function Elsewhere({ what, href, text }: { what: string; href: string; text: string }) {
  return (
    <span class="elsewhere">
      <Icon name="image" size={14} />
      <span>{text || what}</span> <Anchor href={href} text="">open</Anchor>
    </span>
  );
}
