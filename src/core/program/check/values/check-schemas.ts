import { isJsonObject, type JsonValue } from '../../../domain/json/json.ts';
import { typesOf } from '../../../json-schema/json-schema.ts';
import { allSteps, listAt, type Outline, type OutlineStep } from '../outline.ts';
import type { Problems } from '../problems.ts';
import { checkConditionSchema, checkSchema } from './check-schema.ts';

/** Checks all JSON Schemas of a document: of the input, of outputs, and of conditions. */
export function checkSchemas({ document, units }: Outline, problems: Problems): void {
  const { input } = document;
  checkSchema(input, 'input', problems);
  if (input !== undefined && isJsonObject(input)) {
    const types = typesOf(input);
    if (types.length > 0 && !types.includes('object')) problems.add('input', 'the input of a program is an object: write "type": "object"');
  }
  for (const { value, path, steps } of units) {
    checkCondition(value['when'], `${path}.when`, problems);
    for (const step of allSteps(steps)) checkStep(step, problems);
  }
}

function checkStep({ value, kind, body, path }: OutlineStep, problems: Problems): void {
  checkCondition(value['when'], `${path}.when`, problems);
  if (kind === 'ask' || kind === 'human') checkSchema(body['output'], `${path}.${kind}.output`, problems);
  if (kind === 'repeat') checkCondition(body['until'], `${path}.repeat.until`, problems);
  if (kind !== 'branch') return;
  for (const [index, one] of listAt(body, 'cases').entries()) {
    if (isJsonObject(one)) checkCondition(one['when'], `${path}.branch.cases[${index}].when`, problems);
  }
}

function checkCondition(condition: JsonValue | undefined, path: string, problems: Problems): void {
  if (condition !== undefined && isJsonObject(condition)) checkConditionSchema(condition['is'], `${path}.is`, problems);
}
