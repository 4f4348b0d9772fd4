"""How a report looks: the colours of the app, light and dark, on the screen and on paper."""

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --ground: #F3F4F7; --panel: #FFFFFF; --raised: #F8F9FB; --line: #D9DDE5; --canvas: #EEF0F4;
  --text: #1B2130; --secondary: #596275; --accent: #2F6FEB; --wash: #E8F0FE;
  --action: #1F6FB2; --question: #7A4FC9; --condition: #A35C00; --terminal: #596275; --unknown: #B3261E;
  --good: #1C7C4A; --warn: #8A6100; --bad: #B3261E;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #15171C; --panel: #1C1F26; --raised: #232731; --line: #313744; --canvas: #111318;
    --text: #E6E9F0; --secondary: #9AA4B6; --accent: #6EA0FF; --wash: #24344F;
    --action: #5AA9E6; --question: #B08CFF; --condition: #F0A43A; --terminal: #9AA4B6; --unknown: #FF7A70;
    --good: #4CC38A; --warn: #E3B341; --bad: #FF7A70;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); display: grid;
  grid: auto 1fr / 264px minmax(0, 1fr); align-items: start;
  font: 15px/1.55 Inter, system-ui, "Segoe UI", "Noto Sans", sans-serif; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 600; }
h1 { font-size: 30px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin-bottom: 12px; }
h3 { font-size: 16px; display: flex; align-items: center; gap: 8px; }
p { margin: 0; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
code { font: 0.92em ui-monospace, "JetBrains Mono", "DejaVu Sans Mono", monospace; unicode-bidi: isolate; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 12px; background: var(--panel); padding: 8px 12px; z-index: 1; }
.label { color: var(--secondary); font-size: 13px; }
.text { white-space: pre-wrap; }
.hash { font-size: 0.8em; color: var(--secondary); }
.missing { color: var(--bad); }
a code, nav code { color: var(--secondary); font-size: 0.85em; }
section > .text + h3 { margin-top: 16px; }
.aside { color: var(--secondary); font-size: 13px; margin-top: 8px; }

nav { grid-area: 1 / 1 / 3 / 2; position: sticky; top: 0; max-height: 100vh; overflow: auto;
  padding: 32px 12px 32px 24px; }
nav ol { list-style: none; margin: 8px 0 0; padding: 0; }
nav li > a { display: block; padding: 4px 8px; border-radius: 6px; color: var(--text); }
nav li > a:hover { background: var(--wash); text-decoration: none; }
nav .within { margin: 0; font-size: 13px; }
nav .within a { display: flex; gap: 8px; align-items: flex-start; color: var(--secondary); }

header { grid-area: 1 / 2; padding: 32px 32px 40px; display: grid; gap: 8px; justify-items: start; }
main { grid-area: 2 / 2; padding: 0 32px 64px; max-width: 1180px; display: grid; gap: 40px; }
header > *, main > * { min-width: 0; }
section { scroll-margin-top: 16px; }
.state { border: 1px solid; border-radius: 999px; padding: 1px 10px; font-size: 13px; font-weight: 600; }
.state.good { color: var(--good); } .state.bad { color: var(--bad); }

dl { margin: 12px 0 0; display: grid; gap: 6px; width: 100%; }
dl div { display: grid; grid-template-columns: 150px minmax(0, 1fr); gap: 12px; }
dt { color: var(--secondary); font-size: 13px; padding-top: 1px; }
dd { margin: 0; }
dd ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 20px; }

.wide { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 9px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; vertical-align: top; padding: 7px 14px; font-weight: 400; }
thead th { color: var(--secondary); font-size: 12px; white-space: nowrap; }
tbody tr { border-top: 1px solid var(--line); }
td { font-variant-numeric: tabular-nums; }
td > code { white-space: nowrap; }

.canvas { overflow: auto; max-height: 76vh; border: 1px solid var(--line); border-radius: 9px;
  background: var(--canvas); margin-top: 8px; }
.canvas svg { display: block; margin: 0 auto; }
.fit:checked ~ .canvas svg { min-width: 0 !important; }
.fit { accent-color: var(--accent); margin: 0 6px 0 0; vertical-align: -1px; }

article { background: var(--panel); border: 1px solid var(--line); border-radius: 9px; padding: 18px 20px;
  margin-top: 14px; display: grid; gap: 10px; scroll-margin-top: 16px; }
article > * { min-width: 0; }
article:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
article dl { margin: 0; }
article .wide { background: none; }
article table { font-size: 14px; }
article th:first-child { width: 38%; }
blockquote { margin: 0; padding: 2px 0 2px 14px; border-inline-start: 3px solid var(--question); }
.sign { flex: none; display: inline-grid; place-items: center; width: 18px; height: 18px; border-radius: 4px;
  font-size: 11px; font-weight: 700; line-height: 1; color: var(--panel); background: var(--unknown);
  margin-inline-end: 6px; vertical-align: 1px; }
h3 .sign, nav .sign { margin: 0; }
.sign.action { background: var(--action); } .sign.question { background: var(--question); }
.sign.condition { background: var(--condition); }
.sign.terminal { background: var(--terminal); border-radius: 9px; }
.chip { font-size: 12px; font-weight: 400; border: 1px solid var(--line); border-radius: 999px;
  padding: 0 8px; background: var(--raised); color: var(--secondary); }
.severity { font-weight: 600; white-space: nowrap; }
.severity.error, .note.error b { color: var(--bad); }
.severity.warning, .note.warning b { color: var(--warn); }
.severity.info, .note.info b { color: var(--secondary); }

del, ins { text-decoration: none; border-radius: 3px; padding: 0 2px; }
del { color: var(--bad); text-decoration: line-through; }
ins { color: var(--good); font-weight: 600; }
article.removed { border-inline-start: 3px solid var(--bad); }
article.added { border-inline-start: 3px solid var(--good); }

@media screen and (max-width: 820px) {
  body { display: block; }
  header { padding: 24px 16px 0; }
  nav { position: static; max-height: none; padding: 24px 16px; }
  nav li > a { padding-inline: 0; }
  nav .within { display: none; }
  main { padding: 0 16px 48px; }
  dl div { grid-template-columns: minmax(0, 1fr); gap: 0; }
}
@page { margin: 16mm; }
@page picture { size: landscape; }
@media print {
  body { display: block; background: none; font-size: 10.5pt; }
  header, main { padding: 0; max-width: none; }
  main { display: block; }
  nav { position: static; max-height: none; padding: 0 0 18pt; }
  nav li > a { padding: 1pt 0; }
  nav .within { columns: 2; }
  .skip, .fit, .fit + label { display: none; }
  header, section { margin-bottom: 22pt; }
  #picture { page: picture; break-inside: avoid; }
  .canvas { max-height: none; overflow: hidden; border: none; background: none; }
  .canvas svg { min-width: 0 !important; max-height: 150mm; }
  tr, dl div { break-inside: avoid; }
  article { -webkit-box-decoration-break: clone; box-decoration-break: clone; display: block; }
  article > * + *, article > dl { margin-top: 8px; }
  h2, h3, h3 + .label { break-after: avoid; }
  .text { orphans: 3; widows: 3; }
  .sign { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
