// Numbers as people read them.
export function seconds(value: number): string {
  if (value < 0.0005) return "0 ms";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : value < 3600 ? `${Math.round(value)} s` : `${(value / 3600).toFixed(1)} h`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const kilo = value / 1000;
  if (kilo < 1000) return `${kilo < 10 ? kilo.toFixed(1) : Math.round(kilo)} kB`;
  return `${(kilo / 1000).toFixed(1)} MB`;
}
