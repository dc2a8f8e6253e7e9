"""How the report's page looks: by day and by night, on a phone, and printed. Colours are those of the pictures."""

from __future__ import annotations

from headway.views.pictures.drawing import STYLE as PICTURES

_SANS = (
    'ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","PingFang SC",'
    '"Microsoft YaHei","Noto Sans CJK SC",sans-serif'
)
_SERIF = (
    'ui-serif,"Iowan Old Style",Charter,"Source Serif 4",Georgia,"Noto Serif","Songti SC","Noto Serif CJK SC",serif'
)
_MONO = 'ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,"DejaVu Sans Mono",monospace'

STYLE = (
    PICTURES
    + f"""
*{{box-sizing:border-box}}
html{{background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%}}
body{{margin:0;font:15px/1.55 {_SANS};font-variant-numeric:tabular-nums;overflow-wrap:anywhere}}
.page{{max-width:72rem;margin:0 auto;padding:3.5rem 2rem 4rem}}
h1,h2,.value{{font-family:{_SERIF};font-weight:600;letter-spacing:-.01em}}
h1{{font-size:2.3rem;line-height:1.15;margin:.35rem 0 .5rem}}
h2{{font-size:1.4rem;line-height:1.3;margin:0}}
h3{{font-size:1rem;margin:0;font-weight:650}}
code,pre{{font:.86em {_MONO}}}
"""
    + """
p{margin:0}
bdi{unicode-bidi:isolate}
.eyebrow{font-size:.74rem;letter-spacing:.14em;text-transform:uppercase;color:var(--muted);font-weight:600}
.meta,.soft{color:var(--muted)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.6rem,1fr));gap:1.4rem 1.6rem;margin:2.4rem 0 0;
padding:1.5rem 0 0;border-top:2px solid var(--ink)}
.figures div{min-width:0}
.figures dt{font-size:.8rem;color:var(--muted);font-weight:600}
.figures dd{margin:0}
.value{font-size:1.75rem;line-height:1.25;overflow-wrap:normal;white-space:nowrap}
.detail{font-size:.82rem;line-height:1.4;color:var(--muted)}
.strip{display:flex;gap:3px;height:9px;margin:1.8rem 0 .7rem}
.strip span{background:var(--c);min-width:4px;border-radius:1px}
.strip .k-quiet{background:var(--t);border:1px solid var(--c)}
.strip .k-reported{background:repeating-linear-gradient(-45deg,var(--c) 0 3px,var(--t) 3px 6px)}
.strip .k-blocked{background:repeating-linear-gradient(45deg,var(--c) 0 5px,var(--t) 5px 7px)}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;list-style:none;margin:0;padding:0;font-size:.82rem;
color:var(--muted)}
.key b{color:var(--c);font-weight:700}
section{margin-top:3.4rem}
.head{display:flex;align-items:baseline;justify-content:space-between;gap:1rem;padding-bottom:.6rem;
border-bottom:1px solid var(--rule)}
.head .count{font-size:.82rem;color:var(--muted);white-space:nowrap}
.notes{list-style:none;margin:0;padding:0}
.notes li{display:grid;grid-template-columns:6.8rem 1fr;gap:0 1rem;padding:.7rem 0;border-bottom:1px solid var(--rule)}
.tag{font-size:.82rem;font-weight:650;color:var(--c);padding-top:.06rem}
.notes .what{font-weight:600}
.notes .why{color:var(--muted);font-size:.92rem}
.part{margin-top:1.7rem}
.part .facts{color:var(--muted);font-size:.9rem;margin:.2rem 0 .9rem}
figure{margin:0}
figcaption{font-size:.86rem;color:var(--muted);margin-top:.6rem}
figcaption p{margin-top:.3rem}
.wide{overflow-x:auto;padding:2px 0 6px}
.wide:focus-visible,a:focus-visible{outline:2px solid var(--running);outline-offset:2px}
.chart .picture{width:100%;min-width:44rem;height:auto}
.path{color:var(--ink)}
table{width:100%;border-collapse:collapse;font-size:.9rem}
th{font-size:.78rem;font-weight:600;color:var(--muted);text-align:left;padding:.7rem .5rem .45rem;
border-bottom:1px solid var(--rule);vertical-align:bottom}
td{padding:.75rem .5rem;border-bottom:1px solid var(--rule);vertical-align:top}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.n{text-align:right;white-space:nowrap}
td .bad{display:block;color:var(--blocked);font-size:.82rem}
td.mark{color:var(--c);font-weight:700;white-space:nowrap;width:2rem}
td .id{font-weight:650;margin-right:.45em}
td .more{font-size:.84rem;color:var(--muted);margin-top:.15rem}
td .more b{font-weight:600}
pre.more{white-space:pre-wrap;margin-bottom:0;padding-left:.7rem;border-left:2px solid var(--rule)}
td .wrong{color:var(--blocked)}
.left{font-size:.88rem;color:var(--muted);margin-top:.9rem}
.tries{list-style:none;margin:.15rem 0 0;padding:0;font-size:.84rem;color:var(--muted)}
.tries b{color:var(--c);font-weight:600}
a{color:inherit;text-decoration-color:var(--rule);text-underline-offset:.2em}
a:hover{text-decoration-color:currentColor}
tr:target td{background:var(--faint)}
footer{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--rule);font-size:.82rem;color:var(--muted)}
@media (max-width:46rem){
.page{padding:2rem 1.1rem 3rem}
h1{font-size:1.75rem}
section{margin-top:2.6rem}
.figures{grid-template-columns:1fr 1fr;gap:1.1rem 1.2rem;margin-top:1.7rem;padding-top:1.1rem}
.value{font-size:1.45rem}
.notes li{grid-template-columns:1fr}
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.stack,.stack tbody,.stack tr,.stack td{display:block}
.stack tr{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;padding:.8rem 0;border-bottom:1px solid var(--rule)}
.stack td{padding:0;border:0;text-align:left}
.stack .mark{width:1.4rem}
.stack .whole{flex:1 0 calc(100% - 3rem)}
.stack .n{font-size:.84rem}
.stack .n::before{content:attr(data-name) " ";color:var(--muted)}
.stack .n:empty{display:none}
.stack td .bad{display:inline;margin-left:.3em}
}
@media print{
html,body{background:#fff}
.page{max-width:none;padding:0}
section{margin-top:1.6rem}
.head,h3{break-after:avoid}
tr,.notes li,figure{break-inside:avoid}
thead{display:table-header-group}
.wide{overflow:visible}
.chart .picture{min-width:0;width:100%!important;max-width:100%}
a{text-decoration:none}
}
"""
)
