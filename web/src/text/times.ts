// Times and amounts in few characters.

export function duration(ms: number): string {
  if (ms < 95) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_570_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

export function ago(at: number, now: number): string {
  const seconds = (now - at) / 1000;
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  const date = new Date(at);
  if (new Date(now).toDateString() === date.toDateString()) return clock(at);
  if (seconds < 6 * 86_400) return date.toLocaleDateString(undefined, { weekday: "short" });
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

export const clock = (at: number): string => new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
export const day = (at: number): string => new Date(at).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });

export function amount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${(value / 1000).toFixed(value < 99_950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  return value < 1_000_000 ? `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} kB` : `${(value / 1_000_000).toFixed(1)} MB`;
}

export function money(value: number, currency: string): string {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: value < 1 ? 3 : 2, minimumFractionDigits: 2 }).format(value);
  } catch {
    return `${value.toFixed(2)} ${currency}`;
  }
}

/** A path as people write it: below the directory of the session without it, `~` for the home. */
export function shortPath(path: string, cwd: string): string {
  if (cwd !== "" && path === cwd) return ".";
  const root = cwd.endsWith("/") ? cwd : `${cwd}/`;
  if (cwd !== "" && path.startsWith(root)) return path.slice(root.length);
  return homely(path);
}

let home = "";

/** The home of whoever runs the server, which is written as `~`. */
export function setHome(path: string): void {
  home = path;
}

export const homely = (path: string): string =>
  home.length > 1 && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : plainHome(path);

const plainHome = (path: string): string => path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, "~").replace(/^\/root(?=\/|$)/, "~");
