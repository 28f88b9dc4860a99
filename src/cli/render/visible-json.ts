import type { JsonValue } from '../../core/domain/json.ts';
import { printable } from '../../core/domain/text.ts';

/**
 * Invisible characters, and those that change the order of the text around them: an approver must see what is really
 * there.
 */
const INVISIBLE = /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/g;

/** Returns JSON text for an approver, with invisible characters escaped. */
export function visibleText(json: string): string {
  return printable(json.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`));
}

/** Returns a value as such text, on several lines if `indent` is given. */
export function visibleJson(value: JsonValue, indent?: number): string {
  return visibleText(JSON.stringify(value, null, indent));
}
