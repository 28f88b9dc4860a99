/**
 * Functions that read a thrown value. It may be any value: reading a member may throw, and so may every access to a proxy.
 * None of these functions throws.
 */

/** Returns a member of a thrown value; undefined if it is absent or cannot be read. */
export function memberOf(thrown: unknown, name: string): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return undefined;
  try {
    return Reflect.get(thrown, name) as unknown;
  } catch {
    return undefined;
  }
}

/** True for an instance of `type`. False if the test itself throws. */
export function isInstance<Value>(thrown: unknown, type: abstract new (...args: never[]) => Value): thrown is Value {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** Converts a thrown value to text as `String` does; if that throws, returns a text that says so. */
export function shownAsText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return '[What was thrown cannot be shown as text]';
  }
}
