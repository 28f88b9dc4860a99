import { expect, test } from 'vitest';
import { fencesIn } from './fences.ts';
import { fenceErrors, typescriptFences } from './typescript-on-pages.ts';

test('every piece of TypeScript on the pages compiles against the types of the package', async () => {
  const wrong = [
    "import { defineAgent } from 'longhaul';\ndefineAgent({ name: 'a', model: 'local/a', instruction: 'Hello' });",
    "import { defineAgents } from 'longhaul';",
    'defineAgent({ …, limits: { steps: 3 } }); // a name that the page leaves out',
  ];
  const fences = wrong.flatMap((text) => fencesIn('wrong.md', `\`\`\`ts\n${text}\n\`\`\`\n`));
  expect(typescriptFences().length).toBeGreaterThan(150);
  const errors = await fenceErrors([...typescriptFences(), ...fences]);
  // An unknown option and an unknown export: both are found, so the others would be, too.
  expect(errors.filter(({ at }) => at.startsWith('wrong.md')).map(({ code }) => code)).toEqual(['TS2561', 'TS2724']);
  expect(errors.filter(({ at }) => !at.startsWith('wrong.md'))).toEqual([]);
}, 300_000);
