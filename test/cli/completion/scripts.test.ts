import { expect, test } from 'vitest';
import { SHELLS } from '../../../src/cli/shell-commands.ts';
import { callCli } from '../call-cli.ts';

async function scriptOf(shell: string): Promise<string> {
  return (await callCli(['completion', shell])).stdout;
}

/** The brackets of a script that are left open or closed too often, with those in comments and texts left out. */
function unbalanced(script: string): string[] {
  const code = script
    .replaceAll(/^\s*#.*$/gm, '')
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/"(?:[^"`]|`.)*"/g, '""');
  const open: string[] = [];
  const wrong: string[] = [];
  const pairs: Readonly<Record<string, string>> = { ')': '(', '}': '{', ']': '[' };
  for (const bracket of code.match(/[(){}[\]]/g) ?? []) {
    const opening = pairs[bracket];
    if (opening === undefined) open.push(bracket);
    else if (open.pop() !== opening) wrong.push(bracket);
  }
  return [...wrong, ...open];
}

test.each(SHELLS)('the script of %s asks this program for its shell, hides errors, and knows the line for files', async (shell) => {
  const script = await scriptOf(shell);
  expect(script).toMatch(new RegExp(`completion ${shell} '?--'? .*2>(?:/dev/null|\\$null)`));
  expect(script).toContain("':files'");
});

// PowerShell itself runs in real-shells.test.ts where it is installed. Elsewhere the form of its script is what can be held.
test('the script of PowerShell is one registration of a native command, with balanced brackets', async () => {
  const script = await scriptOf('powershell');
  expect(script.match(/Register-ArgumentCompleter -Native -CommandName longhaul -ScriptBlock \{$/gm)).toHaveLength(1);
  expect(script).toContain('param($wordToComplete, $commandAst, $cursorPosition)');
  expect(script).toMatch(/\[System\.Management\.Automation\.CompletionResult\]::new\(\$value, \$value, 'ParameterValue', \$meaning\)/);
  expect(unbalanced(script)).toEqual([]);
});

test('the script of PowerShell quotes the dashes, which the starter of npm would lose, and passes no empty argument', async () => {
  const script = await scriptOf('powershell');
  expect(script).toContain("completion powershell '--' @words");
  expect(script).toContain(`$words += '""'`);
  expect(script).not.toMatch(/\+= ''/);
});

test.each([
  ['as an empty argument, from older versions', ''],
  ['in quotes, from newer versions', '""'],
])('the empty word of PowerShell arrives %s, and completes to all commands', async (_, word) => {
  const { stdout } = await callCli(['completion', 'powershell', '--', 'session', word]);
  const [first = ''] = stdout.split('\n');
  // The script takes the description from after a tab.
  expect(first).toMatch(/^[a-z-]+\t\S/);
  expect(stdout.trim().split('\n').length).toBeGreaterThan(3);
});
