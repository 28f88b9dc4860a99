import { fileMemory } from '../../src/memory/file-memory.ts';
import { sqliteMemory } from '../../src/memory/sqlite-memory.ts';

/**
 * Stores values sequentially, and writes a line for each stored one:
 * `node store-many.ts <file or sqlite> <path> <namespace> <count>`.
 */
const [kind, file = '', namespace = '', count = '0'] = process.argv.slice(2);
const memory = kind === 'sqlite' ? sqliteMemory({ file }) : fileMemory({ file });
for (let index = 0; index < Number(count); index += 1) {
  await memory.remember({ namespace, key: `${namespace}-${index}`, value: `value ${index}`, vector: [index, 1] });
  process.stdout.write(`${index}\n`);
}
