import type { ProgramDocument } from '../../domain/program/document.ts';
import { checkNames } from './names/check-names.ts';
import { checkNeeds } from './names/check-needs.ts';
import { EndedUnits } from './names/ended-units.ts';
import { readOutline } from './outline.ts';
import { plainDocument } from './plain-document.ts';
import { type Problem, Problems } from './problems.ts';
import { checkReferences } from './scope/check-references.ts';
import { checkShape } from './shape/check-shape.ts';
import { checkKnown } from './values/check-known.ts';
import { checkSchemas } from './values/check-schemas.ts';
import { checkSettings } from './values/check-settings.ts';
import type { KnownNames } from './values/known-names.ts';

/** The problems of a document. Without problems it is a program, which warnings do not keep from running. */
export interface CheckedProgram {
  problems: Problem[];
  warnings: Problem[];
  /** A copy of the document as plain JSON. Undefined if there are problems. */
  document: ProgramDocument | undefined;
}

/**
 * Checks a document: its fields, its names, the places of its references, its schemas and settings, and the names of what `known`
 * lists. Reports all problems at once, each with its path. Never throws, and takes time in proportion to the document, for any value.
 */
export function checkProgram(document: unknown, known: KnownNames = {}): CheckedProgram {
  const plain = plainDocument(document);
  if (!plain.ok) return { problems: [{ path: '', message: plain.message }], warnings: [], document: undefined };
  const problems = new Problems(plain.document['lenient'] === true);
  const outline = readOutline(plain.document, problems);
  const ended = new EndedUnits(outline);
  checkShape(outline, problems);
  checkNames(outline, problems);
  checkNeeds(outline, ended, problems);
  checkReferences(outline, ended, problems);
  checkSchemas(outline, problems);
  checkSettings(outline, problems);
  checkKnown(outline, known, problems);
  const found = problems.problems;
  return {
    problems: found,
    warnings: problems.warnings,
    document: found.length === 0 ? asProgram(plain.document) : undefined,
  };
}

/** A document without problems has the shape of a program. */
function asProgram(document: object): ProgramDocument {
  return document as ProgramDocument;
}
