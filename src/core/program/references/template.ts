import { type Reference, referenceAt } from './reference.ts';

/** A part of a template: text that stays as it is, or a reference. */
export type TemplatePart = string | Reference;

/** Splits a template into texts and references. Braces that hold no reference stay text. Takes time in proportion to the template. */
export function parseTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let at = template.indexOf('{{'); at >= 0; at = template.indexOf('{{', at)) {
    const reference = referenceAt(template, at);
    if (reference === undefined) {
      at += 1;
      continue;
    }
    if (at > from) parts.push(template.slice(from, at));
    parts.push(reference);
    at += reference.written.length;
    from = at;
  }
  if (from < template.length) parts.push(template.slice(from));
  return parts;
}

/** Returns the reference that a template consists of, without anything around it; undefined for any other template. */
export function wholeReference(template: string): Reference | undefined {
  const reference = referenceAt(template, 0);
  return reference?.written === template ? reference : undefined;
}
