/**
 * Reads what was thrown. It may be anything: a member may throw when it is read, a proxy at every access, and
 * a type says nothing about what code in JavaScript throws. Nothing here throws.
 */

/** A member of what was thrown; undefined where there is none, or where it cannot be read. */
export function memberOf(thrown: unknown, name: string): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return undefined;
  try {
    return Reflect.get(thrown, name) as unknown;
  } catch {
    return undefined;
  }
}

/** True for an instance of `type`. False where that cannot be found out. */
export function isInstance<Value>(thrown: unknown, type: abstract new (...args: never[]) => Value): thrown is Value {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** Shows what was thrown as `String` does; where that throws, a text that says so. */
export function shownAsText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return '[What was thrown cannot be shown as text]';
  }
}
