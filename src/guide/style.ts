/** The style of the pages: readable at 390 pixels, light and dark. */
export const STYLE = `:root {
  color-scheme: light dark;
  --text: light-dark(#1f2328, #e6edf3);
  --dim: light-dark(#57606a, #9da7b1);
  --page: light-dark(#fff, #0d1117);
  --code: light-dark(#f6f8fa, #161b22);
  --line: light-dark(#d0d7de, #30363d);
  --link: light-dark(#0550ae, #79c0ff);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; justify-content: space-between; padding: 12px 24px; border-bottom: 1px solid var(--line); }
header .home { color: inherit; font-weight: 600; text-decoration: none; }
form { display: flex; gap: 8px; }
input, button { min-height: 36px; padding: 0 12px; border: 1px solid var(--dim); border-radius: 6px; background: var(--page); color: inherit; font: inherit; }
input { width: min(60vw, 320px); }
main { max-width: 860px; margin: 0 auto; padding: 16px 24px 96px; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2em; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
a { color: var(--link); }
.anchor { color: var(--dim); text-decoration: none; }
code { padding: 2px 4px; border-radius: 4px; background: var(--code); font: 0.875em ui-monospace, monospace; }
pre { padding: 12px 16px; overflow-x: auto; border-radius: 6px; background: var(--code); overflow-wrap: normal; }
pre code { padding: 0; background: none; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: 6px 12px; border: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: normal; }
img { max-width: 100%; height: auto; background: #fff; }
blockquote { margin: 0; padding-left: 16px; border-left: 3px solid var(--line); color: var(--dim); }
.contents ul { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; list-style: none; font-size: 0.9em; }
.found p { margin: 4px 0 16px; color: var(--dim); }
`;
