import type { JsonValue } from '../../core/domain/json/json.ts';
import { printable } from '../../core/domain/content/printable.ts';

/** Characters that change the order of what is around them, or that nobody sees: a person must decide on what is really there. */
const INVISIBLE = /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/g;

/** JSON text for a person who decides about it: what cannot be seen is escaped. */
export function visibleText(json: string): string {
  return printable(json.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`));
}

/** A value as such a text, on several lines where `indent` is given. */
export function visibleJson(value: JsonValue, indent?: number): string {
  return visibleText(JSON.stringify(value, null, indent));
}
