// Blocks of content: text, images, sound, files; anything else is shown raw.
import { useEffect, useMemo, useState } from "../libraries";
import type { Block } from "../fold/model";
import { filePath, linkOf } from "../text/links";
import { bytes } from "../text/times";
import { plain } from "../text/visible";
import { asNumber, asObj, asText, type Json, type Obj } from "../wire/types";
import { Icon } from "./icons";
import { Anchor, Markdown } from "./markdown";
import { CopyButton, Modal, Visible } from "./parts";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml"];

/** Bytes of data in base64 as an address of this page alone; null if it is none. */
function useBlob(data: string, kind: string): { url: string; size: number } | null {
  const made = useMemo(() => {
    try {
      const text = atob(data.replace(/\s/g, ""));
      const buffer = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at++) buffer[at] = text.charCodeAt(at);
      return { url: URL.createObjectURL(new Blob([buffer], { type: kind })), size: buffer.length };
    } catch {
      return null;
    }
  }, [data, kind]);
  useEffect(() => () => {
    if (made !== null) URL.revokeObjectURL(made.url);
  }, [made]);
  return made;
}

export function Picture({ data, kind, name }: { data: string; kind: string; name: string }) {
  const blob = useBlob(data, kind);
  const [size, setSize] = useState("");
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  if (!IMAGES.includes(kind) || blob === null || broken) return <p class="note warn"><Icon name="alert" size={14} /><span>An image that cannot be shown ({plain(kind) || "no type"}).</span></p>;
  return (
    <>
      <button type="button" class="shot" onClick={() => setLarge(true)} aria-label={`Show ${name} larger`}>
        <img
          src={blob.url}
          alt={name}
          width="56"
          height="38"
          onError={() => setBroken(true)}
          onLoad={(event) => setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight} · `)}
        />
        <span><b>{name}</b><small>{size}{bytes(blob.size)}</small></span>
      </button>
      {large && <Modal label={name} class="picture" onClose={() => setLarge(false)}><img src={blob.url} alt={name} /></Modal>}
    </>
  );
}

function Sound({ data, kind }: { data: string; kind: string }) {
  const blob = useBlob(data, kind);
  if (blob === null) return <p class="note warn">A sound that cannot be played.</p>;
  return <figure class="sound"><audio controls src={blob.url} /><figcaption>{plain(kind)} · {bytes(blob.size)}</figcaption></figure>;
}

export function ContentBlock({ block, done = true }: { block: Block | { type: string; raw: Obj }; done?: boolean }) {
  const raw = block.raw;
  switch (block.type) {
    case "text":
      return <div class="prose"><Markdown text={asText(raw.text)} done={done} /></div>;
    case "image":
      if (typeof raw.data !== "string" || raw.data === "") return <FileLink uri={asText(raw.uri)} name="image" size={null} />;
      return <Picture data={raw.data} kind={asText(raw.mimeType)} name={nameOf(asText(raw.uri)) || "image"} />;
    case "audio":
      return <Sound data={asText(raw.data)} kind={asText(raw.mimeType)} />;
    case "resource_link":
      return <FileLink uri={asText(raw.uri)} name={asText(raw.title) || asText(raw.name)} size={asNumber(raw.size)} />;
    case "resource": {
      const resource = asObj(raw.resource);
      if (typeof resource.blob === "string" && IMAGES.includes(asText(resource.mimeType))) return <Picture data={resource.blob} kind={asText(resource.mimeType)} name={nameOf(asText(resource.uri))} />;
      return (
        <details class="fold">
          <summary><Icon name="chevron" size={12} class="chev" /><span class="mono">{nameOf(asText(resource.uri)) || "resource"}</span></summary>
          <pre class="raw"><Visible text={asText(resource.text) || "(not text)"} /></pre>
        </details>
      );
    }
    default:
      return <Raw value={raw} />;
  }
}

const nameOf = (uri: string): string => plain(decode(uri.split(/[/\\]/).at(-1) ?? ""));

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A file or a page that is named, never fetched. */
export function FileLink({ uri, name, size }: { uri: string; name: string; size: number | null }) {
  const path = filePath(uri);
  const link = linkOf(uri, "");
  return (
    <span class="file-link">
      <Icon name={link === null ? "read" : "fetch"} size={14} />
      {link === null ? <span class="mono">{plain(path ?? (name || uri))}</span> : <Anchor href={uri} text={name}>{plain(name || uri)}</Anchor>}
      {size !== null && <small>{bytes(size)}</small>}
      {link === null && <CopyButton text={() => path ?? uri} label="Copy the path" />}
    </span>
  );
}

/** Whatever it is, as JSON. */
export function Raw({ value, name }: { value: Json; name?: string }) {
  const text = useMemo(() => {
    const whole = JSON.stringify(value, null, 2) ?? "undefined";
    return whole.length > 200_000 ? `${whole.slice(0, 200_000)}\n… ${whole.length - 200_000} more characters` : whole;
  }, [value]);
  return (
    <pre class="raw" tabIndex={0} aria-label={name ?? "Raw data"}>
      {name !== undefined && <span class="c">{name} </span>}
      <Visible text={text} />
    </pre>
  );
}
