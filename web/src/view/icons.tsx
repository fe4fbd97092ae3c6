// Icons on a grid of 16, drawn with a stroke of 1.5 in the colour of the text.
const PATHS = {
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  check: "m3 8.5 3.3 3.3L13 4.6",
  cross: "m4 4 8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.4 10.4 13.5 13.5",
  read: "M4 1.8h5l3 3v9.4H4zM9 1.8v3h3M6 8h4M6 11h4",
  edit: "m10.5 2.8 2.7 2.7-7.7 7.7-3.2.5.5-3.2zM9 4.3 11.7 7",
  execute: "m2.5 4.5 3.5 3.5-3.5 3.5M8 12h5.5",
  fetch: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2.4 4 2.4 6S10 12 8 14c-2-2-2.4-4-2.4-6S6 4 8 2Z",
  delete: "M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4",
  move: "M2 8h11M9.5 4.5 13 8l-3.5 3.5",
  think: "M8 1.8a4.2 4.2 0 0 0-2.2 7.8v1.6h4.4V9.6A4.2 4.2 0 0 0 8 1.8ZM6.3 13.8h3.4",
  other: "M8 2.2 13.2 5v6L8 13.8 2.8 11V5zM2.8 5 8 8l5.2-3M8 8v5.8",
  plan: "M6.5 4h7M6.5 8h7M6.5 12h7M2.2 4l.8.8 1.6-1.6M2.2 8l.8.8 1.6-1.6M2.2 12l.8.8 1.6-1.6",
  wire: "M1.5 8h3L6.5 3l3 10 2-5h3",
  send: "M8 13V3.2M3.8 7.4 8 3.2l4.2 4.2",
  stop: "M5 5h6v6H5z",
  image: "M2 3h12v10H2zM2 11l3.5-3.5 3 3L11 8l3 3M10.8 5.8h.01",
  at: "M10.5 8a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0ZM10.5 5.5v3.2c0 2.4 3 2 3-.7A5.5 5.5 0 1 0 11 12.6",
  slash: "M2.5 2.5h11v11h-11zM6.5 11l3-6",
  people: "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.2-2.8 2-4.2 4.5-4.2s4.3 1.4 4.5 4.2M11 2.9a2.4 2.4 0 0 1 0 4.4M12.3 9.6c1.4.6 2.1 1.9 2.2 3.9",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.2 6.3c.1-2.3 3.7-2.3 3.6 0 0 1.3-1.8 1.4-1.8 2.7M8 11.2h.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  out: "M9.5 2.5h4v4M13.2 2.8 7.5 8.5M11.5 9.5v4h-9v-9h4",
  alert: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.7h.01",
  save: "M8 2v8M4.5 6.8 8 10.3l3.5-3.5M2.5 13.5h11",
  right: "M2.5 8h10.5M9 4l4 4-4 4",
  left: "M13.5 8H3M7 4 3 8l4 4",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.3 1.5",
  folder: "M1.8 3.5h4.4l1.5 1.8h6.5v7.6H1.8z",
  branch: "M4.5 6v4M4.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM4.5 13.6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6c0 2.6-4.6 2-6 4",
  key: "M5.5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM7.7 7.8 13.5 2M11 4.5l2 2",
  plug: "M5.5 2v3M10.5 2v3M3.5 5h9v2.5a4.5 4.5 0 0 1-9 0zM8 12v2.5",
  bolt: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  shield: "M8 1.8 13 3.5V8c0 3-2 5-5 6.2C5 13 3 11 3 8V3.5z",
  panel: "M2 3h12v10H2zM10 3v10",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h7",
  chat: "M2 3h12v8H7.5L4.5 14v-3H2z",
  code: "m5.5 4-4 4 4 4M10.5 4l4 4-4 4",
  retry: "M13 8a5 5 0 1 1-1.5-3.6M13.2 2v3h-3",
  ring: "M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10Z",
  spin: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  hand: "M4.5 8.5V4.4a1.1 1.1 0 0 1 2.2 0M6.7 7.5V2.9a1.1 1.1 0 0 1 2.2 0v4.6M8.9 7.5V3.9a1.1 1.1 0 0 1 2.2 0V8M11.1 8V5.4a1.1 1.1 0 0 1 2.2 0v4.1a4.6 4.6 0 0 1-4.6 4.6c-2 0-3.2-.9-4.2-2.7L2.9 8.6a1.1 1.1 0 0 1 1.9-1.1",
  logo: "M2 12.5V10a6 6 0 0 1 12 0v2.5M5 13v-2.8a3 3 0 0 1 6 0V13M8 10.5v3",
  logout: "M6 2.5H2.5v11H6M10 4.5 13.5 8 10 11.5M13.5 8H6",
  fork: "M4.5 6.2v.3c0 1.8 7 1.2 7 0v-.3M8 7.6v2.2M4.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM8 13.5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z",
} as const;

const FILLED = {
  theme: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 1.5v9a4.5 4.5 0 0 1 0-9Z",
  half: "M8 2.3a5.7 5.7 0 1 0 0 11.4A5.7 5.7 0 0 0 8 2.3Zm0 1.5v8.4a4.2 4.2 0 0 1 0-8.4Z",
} as const;

export type IconName = keyof typeof PATHS | keyof typeof FILLED;

export function Icon({ name, size = 16, class: own = "" }: { name: IconName; size?: number; class?: string }) {
  const filled = name === "theme" || name === "half";
  return (
    <svg class={`i i-${name} ${own}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" fill={filled ? "currentColor" : "none"} fill-rule="evenodd" stroke={filled ? "none" : "currentColor"} stroke-width={name === "dots" ? 2 : 1.5} stroke-linecap="round" stroke-linejoin="round">
      {name === "stop" ? <rect x="4.5" y="4.5" width="7" height="7" rx="1.5" fill="currentColor" stroke="none" /> : <path d={filled ? FILLED[name] : PATHS[name]} />}
    </svg>
  );
}

const KINDS: Record<string, IconName> = {
  read: "read", edit: "edit", execute: "execute", fetch: "fetch", delete: "delete", move: "move", search: "search",
  think: "think", switch_mode: "shield", other: "other",
};

export const kindIcon = (kind: string): IconName => KINDS[kind] ?? "other";
