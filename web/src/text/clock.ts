// The server's time, counted on by a clock that nobody sets: this machine's may be wrong, and may jump.

let offset = Date.now() - performance.now();

/** Milliseconds since 1970, as the server has them. */
export const now = (): number => performance.now() + offset;

/** What the server said that its time is. */
export function setNow(server: number): void {
  offset = server - performance.now();
}
