// The server's time, continued by a monotonic clock: this machine's own may be wrong, and may jump.

let offset = Date.now() - performance.now();

/** Milliseconds since 1970, as the server has them. */
export const now = (): number => performance.now() + offset;

/** Set the time that the server reported. */
export function setNow(server: number): void {
  offset = server - performance.now();
}
