import { isJsonObject } from '../../../domain/json/json.ts';
import { STEP_KINDS } from '../../../domain/program/document.ts';
import { allSteps, type Outline, type OutlineStep } from '../outline.ts';
import { type Problems, quoted } from '../problems.ts';
import { checkPart } from './check-part.ts';
import { fields, TEXT } from './part-schemas.ts';
import { PROGRAM_SCHEMA, UNIT_SCHEMA } from './program-schema.ts';
import { KIND_SCHEMAS, STEP_FIELDS } from './step-schemas.ts';

/** The schema of a step without its kinds, which are checked each with its own. */
const STEP_PART = fields({ name: TEXT }, { ...STEP_FIELDS, ...Object.fromEntries(STEP_KINDS.map((kind) => [kind, {}])) });

/** Checks the fields of a document and their types. */
export function checkShape({ document, units }: Outline, problems: Problems): void {
  checkPart(PROGRAM_SCHEMA, { value: document, path: '' }, problems);
  for (const { value, path, steps } of units) {
    checkPart(UNIT_SCHEMA, { value, path }, problems);
    for (const step of allSteps(steps)) checkStep(step, problems);
  }
}

function checkStep({ value, path }: OutlineStep, problems: Problems): void {
  const kinds = STEP_KINDS.filter((kind) => Object.hasOwn(value, kind));
  const [kind] = kinds;
  if (kind === undefined) problems.add(path, `the step has no kind: write one of ${STEP_KINDS.join(', ')}`);
  if (kinds.length > 1) problems.add(path, `the step has ${kinds.length} kinds, ${kinds.map(quoted).join(' and ')}: make a step of each`);
  checkPart(STEP_PART, { value, path }, problems);
  for (const one of kinds) {
    const body = value[one] ?? null;
    const schema = KIND_SCHEMAS[one];
    if (isJsonObject(body)) checkPart(schema, { value: body, path: `${path}.${one}` }, problems);
    else checkPart({ type: 'object' }, { value: body, path: `${path}.${one}` }, problems);
  }
}
