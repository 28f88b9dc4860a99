import * as s from './shape.ts';

/** The most sources of one answer, and the most bytes of JSON of each. */
export const SOURCE_BOUNDS = { sources: 50, bytes: 2_000 } as const;

const SOURCE_MEMBERS = {
  /** The page, by http or https. Absent: a document without an address. */
  url: s.optional(s.TEXT),
  /** The title of the page, or the name of the document. */
  title: s.optional(s.TEXT),
  /** The type of a document. */
  mediaType: s.optional(s.TEXT),
  /** The name of the file of a document. */
  filename: s.optional(s.TEXT),
  /** The place in the text of the answer that relies on it, with `end`, as the provider counts. Absent: it is not known. */
  start: s.optional(s.COUNT),
  /** The end of that place, as the provider counts. Absent: it is not known. */
  end: s.optional(s.COUNT),
};

/** A page or a document that the provider of a model has used for an answer. */
export interface Source extends s.ObjectOf<typeof SOURCE_MEMBERS> {}
export const SOURCE: s.Shape<Source> = s.object(SOURCE_MEMBERS);

/** Returns a source in words: its title, and where it is. */
export function sourceText({ url, title, filename }: Source): string {
  return [...new Set([title, url ?? filename])].filter((one) => one !== undefined).join(' · ');
}
