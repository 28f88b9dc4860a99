import { fileMemory } from '../../src/memory/file-memory.ts';

/** Stores values one after the other: `node store-many.ts <file> <prefix> <count>`. */
const [file = '', prefix = '', count = '0'] = process.argv.slice(2);
const memory = fileMemory({ file });
for (let index = 0; index < Number(count); index += 1)
  await memory.remember({ namespace: prefix, key: `${prefix}-${index}`, value: index });
