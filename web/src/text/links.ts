// Which addresses may be links, and what a reader has to know of them.

const SCHEMES = ["http:", "https:", "mailto:"];

export interface Link {
  href: string;
  host: string;
  /** The text looks like a different address from the one that it leads to. */
  deceives: boolean;
}

export function linkOf(href: string, text: string): Link | null {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  if (!SCHEMES.includes(url.protocol)) return null;
  const host = url.protocol === "mailto:" ? url.pathname : url.host;
  return { href: url.href, host, deceives: looksLikeOther(text.trim(), url) };
}

function looksLikeOther(text: string, url: URL): boolean {
  const claimed = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]\S*)?$/i.exec(text)?.[1];
  if (claimed === undefined || url.protocol === "mailto:") return false;
  const bare = (name: string): string => name.toLowerCase().replace(/^www\./, "");
  return bare(claimed) !== bare(url.hostname) && bare(claimed) !== bare(url.host);
}

/** The path of a file address; null for other addresses. */
export function filePath(uri: string): string | null {
  if (!uri.startsWith("file://")) return null;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return null;
  }
}
