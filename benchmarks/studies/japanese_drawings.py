"""Twenty Japanese captions with their drawn scene graphs on one page, for looking at by eye.

    python -m benchmarks.studies.japanese_drawings docs/pictures/japanese-graphs.html

The captions were written for this page; several are long or hard on purpose.
"""

from __future__ import annotations

import html
import sys
from pathlib import Path

from vericap.graphs import japanese

CAPTIONS = (
    "人通りの少なくなった道路で、青いズボンを着た男の子がオレンジ色のヘルメットを被り、スケートボードに乗っている。",
    "白くて大きい犬が、赤い首輪をつけて芝生の上を走っている。",
    "男性と2人の女性が、丸いテーブルを囲んで食事をしている。",
    "消防士たちが燃えている建物に放水している。",
    "杖をついて歩く老人の後ろを、黒い猫がついて行く。",
    "羊の群れが犬に追われて、柵の中へ入っていく。",
    "母親が小さな子供にスプーンで野菜を食べさせている。",
    "雪に覆われた山の前で、スキー板を持った男女4人が並んで立っている。",
    "花が入っていない透明な花瓶が、窓の横の棚に置いてある。",
    "右下の箱から左上の箱に水色のカップを移してください。",
    "左側の箱の中にある消しゴムを取り、手前の皿の上に置いて。",
    "白い皿の上に赤い皿があり、その隣にフォークが二本並んでいる。",
    "二階建てバスが、古い時計台の前の交差点を曲がっている写真です。",
    "眼鏡をかけた女性が、友達の書いた手紙をベンチに座って読んでいる。",
    "キッチンのカウンターの上に、切ったパンとバターの入った皿とコーヒーカップがある。",
    "傘を差した人が大勢、濡れた石畳の道を駅から広場まで歩いている。",
    "麦わら帽子をかぶった少年が、父親に肩車をしてもらって花火を見上げている。",
    "木々に囲まれた湖に、二人の乗ったボートが浮かび、岸では子供たちが手を振っている。",
    "黄色と黒の縞模様の列車が、煙を上げながら長い鉄橋を渡っているところです。",
    "屋根からつららが下がった小屋の入り口に、毛の長い犬が寝そべっている。",
)
_STYLE = "body{font-family:sans-serif;margin:2em}figure{margin:0 0 2.5em}svg{max-width:100%;height:auto}"


def page() -> str:
    """The page as HTML with the pictures inside."""
    figures = [
        f"<figure id='g{number}'><figcaption>{number}. {html.escape(text)}</figcaption>{graph.draw()}</figure>"
        for number, (text, graph) in enumerate(zip(CAPTIONS, japanese.parse_many(CAPTIONS)), start=1)
    ]
    head = f"<!doctype html><html lang='ja'><meta charset='utf-8'><title>Japanese scene graphs</title><style>{_STYLE}"
    return head + "</style><h1>Twenty Japanese scene graphs</h1>\n" + "\n".join(figures) + "\n</html>\n"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "japanese-graphs.html")
    target.write_text(page(), "utf-8")
    for number, (text, graph) in enumerate(zip(CAPTIONS, japanese.parse_many(CAPTIONS)), start=1):
        print(f"{number}. {text}\n   " + " ".join("/".join(item) for item in graph.tuples()))


if __name__ == "__main__":
    main()
