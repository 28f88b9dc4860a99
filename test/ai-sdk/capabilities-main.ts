import { writeFile } from 'node:fs/promises';
import { capabilityPage, PAGE } from './capabilities.ts';

/** `npm run capabilities`: writes the table of docs/providers.md. */
const { is, due } = await capabilityPage();
if (is !== due) await writeFile(PAGE, due);
process.stdout.write(is === due ? 'The table of docs/providers.md is as it should be.\n' : 'The table of docs/providers.md was written.\n');
