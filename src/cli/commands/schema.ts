import { UsageError } from '../../core/domain/errors.ts';
import { didYouMean } from '../../core/domain/text.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { SCHEMA } from '../shell-commands.ts';

/** The documents that have a schema. */
const KINDS = ['program'];

/** Prints a JSON Schema. */
export async function schema({ output }: CommandIo, { kind }: FlagsOf<typeof SCHEMA>): Promise<number> {
  if (!KINDS.includes(kind))
    throw new UsageError(`There is no schema "${kind}"${didYouMean(kind, KINDS) || '.'} There is: ${KINDS.join(', ')}`);
  const { PROGRAM_SCHEMA } = await import('../../core/program/check/program-schema.ts');
  if (output.json) output.printJson(PROGRAM_SCHEMA);
  else output.print(JSON.stringify(PROGRAM_SCHEMA, null, 2));
  return EXIT_CODES.ok.code;
}
