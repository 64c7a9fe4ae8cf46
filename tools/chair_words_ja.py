"""The Japanese words CHAIR and VIFIDEL read as objects; `build_chair_words.py` writes them as words_ja.json.

Written for vericap by the rules of the English table. The first word of a class is its name. Spellings that SudachiPy
normalises (いぬ, イヌ, 犬) need not be listed: a morpheme is looked up as written and in its normal form.
"""

from __future__ import annotations

CLASSES = """
person: 人 男性 女性 男 女 子供 子ども こども 少年 少女 男の子 女の子 男の人 女の人 赤ちゃん 赤ん坊 幼児 人々
  人びと 人間 大人 老人 若者 夫婦 カップル 選手 プレイヤー プレーヤー 警察官 警官 消防士 兵士 サーファー
  スキーヤー スノーボーダー スケーター スケートボーダー バッター 打者 ピッチャー 投手 キャッチャー 捕手 審判
  観客 歩行者 通行人 乗客 客 店員 シェフ 料理人 学生 生徒 医者 カウボーイ 騎手 運転手 花嫁 花婿 新郎 新婦
  ライダー 誰か 観光客 群衆 人混み 人だかり 作業員 母親 父親 息子 娘 おじいさん おばあさん お年寄り 男女 男子
  女子 野球選手 テニス選手 サッカー選手 乗組員 農夫 漁師 友人 友達
bicycle: 自転車 マウンテンバイク 三輪車
car: 車 自動車 乗用車 タクシー パトカー スポーツカー レーシングカー オープンカー クラシックカー
motorcycle: オートバイ バイク スクーター 原付 自動二輪車
airplane: 飛行機 旅客機 ジェット機 戦闘機 航空機 プロペラ機 セスナ 複葉機 水上飛行機
bus: バス 二階建てバス 2階建てバス 観光バス スクールバス 路線バス マイクロバス
train: 電車 列車 機関車 蒸気機関車 汽車 新幹線 貨物列車 地下鉄 モノレール
truck: トラック 消防車 軽トラック 軽トラ ピックアップトラック ゴミ収集車 ダンプカー トレーラー
boat: ボート 船 舟 小舟 ヨット 帆船 カヌー カヤック 漁船 フェリー 客船 モーターボート ゴンドラ 屋形船
traffic light: 信号機 信号 交通信号 交通信号機
fire hydrant: 消火栓
stop sign: 一時停止標識 停止標識 一時停止の標識 止まれの標識 ストップサイン
parking meter: パーキングメーター
bench: ベンチ
bird: 鳥 カモメ 鳩 鴨 アヒル ガチョウ オウム インコ フクロウ 鷲 鷹 白鳥 ダチョウ ペンギン ハチドリ 孔雀
  ペリカン フラミンゴ 鶏 ニワトリ カラス 鷺 サギ 雀 小鳥 水鳥 海鳥 雁 オンドリ
cat: 猫 子猫 仔猫 黒猫 白猫 三毛猫 ネコ
dog: 犬 子犬 仔犬 愛犬 プードル ブルドッグ ダルメシアン チワワ 柴犬 レトリバー ダックスフント イヌ
horse: 馬 子馬 白馬 ポニー
sheep: 羊 子羊 ヒツジ
cow: 牛 子牛 雄牛 雌牛 乳牛 ウシ
elephant: 象 子象 ゾウ
bear: 熊 クマ 白熊 シロクマ ホッキョクグマ 北極熊 パンダ 子熊 グリズリー
zebra: シマウマ 縞馬
giraffe: キリン
backpack: リュック リュックサック バックパック ランドセル
umbrella: 傘 日傘 パラソル 雨傘 ビニール傘
handbag: ハンドバッグ
tie: ネクタイ 蝶ネクタイ
suitcase: スーツケース キャリーケース 旅行鞄 キャリーバッグ
frisbee: フリスビー
skis: スキー板
snowboard: スノーボード スノボ
sports ball: サッカーボール テニスボール 野球ボール バスケットボール
kite: 凧 たこ揚げ カイト
baseball bat: 野球バット 野球のバット バット
baseball glove: 野球グローブ グローブ 野球のグローブ キャッチャーミット ミット
skateboard: スケートボード スケボー
surfboard: サーフボード
tennis racket: テニスラケット ラケット テニスのラケット
bottle: ボトル 瓶 ペットボトル ワインボトル ビール瓶 ビン
wine glass: ワイングラス シャンパングラス
cup: カップ コップ マグカップ コーヒーカップ ティーカップ 紙コップ
fork: フォーク
knife: ナイフ 包丁
spoon: スプーン
bowl: ボウル お椀 どんぶり 丼 鉢 茶碗
banana: バナナ
apple: リンゴ 林檎
sandwich: サンドイッチ サンドウィッチ ハンバーガー サンド
orange: みかん ミカン オレンジ
broccoli: ブロッコリー
carrot: ニンジン 人参
hot dog: ホットドッグ ホットドック
pizza: ピザ ピッツァ
donut: ドーナツ ドーナッツ
cake: ケーキ カップケーキ ショートケーキ チーズケーキ ウェディングケーキ 誕生日ケーキ バースデーケーキ
chair: 椅子 イス 肘掛け椅子 ロッキングチェア デッキチェア チェア
couch: ソファ ソファー 長椅子
potted plant: 鉢植え 観葉植物 植木鉢 鉢植
bed: ベッド 二段ベッド ベット
dining table: テーブル 食卓 ダイニングテーブル
toilet: 便器 便座 洋式トイレ 洋式便器 小便器
tv: テレビ TV 液晶テレビ 薄型テレビ
laptop: ノートパソコン ラップトップ ノートPC ラップトップパソコン ノート型パソコン
mouse: マウス
remote: リモコン wiiリモコン コントローラー
keyboard: キーボード
cell phone: 携帯電話 携帯 スマホ スマートフォン アイフォン iphone ケータイ ガラケー
microwave: 電子レンジ
oven: オーブン コンロ ガスコンロ ガスレンジ
toaster: トースター
sink: 流し台 シンク 洗面台 流し 洗面ボウル
refrigerator: 冷蔵庫
book: 本 書籍 絵本 教科書 小説
clock: 時計 掛け時計 時計台 時計塔 目覚まし時計 置き時計 柱時計
vase: 花瓶
scissors: はさみ ハサミ 鋏
teddy bear: テディベア テディーベア 熊のぬいぐるみ クマのぬいぐるみ くまのぬいぐるみ ぬいぐるみの熊
  ぬいぐるみのクマ
hair drier: ドライヤー ヘアドライヤー
toothbrush: 歯ブラシ
"""

_ANIMALS = "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe"
# word: the classes any of which it may name
SEVERAL = {
    "ボール": "sports ball, bowl",
    "球": "sports ball",
    "路面電車": "train, bus",
    "トラム": "train, bus",
    "バン": "car, truck, bus",
    "ワゴン車": "car, truck",
    "軽自動車": "car, truck",
    "パソコン": "laptop, tv, keyboard",
    "コンピューター": "laptop, tv, keyboard",
    "コンピュータ": "laptop, tv, keyboard",
    "PC": "laptop, tv, keyboard",
    "モニター": "tv, laptop",
    "レンジ": "microwave, oven",
    "オーブントースター": "toaster, oven, microwave",
    "家族": f"person, {_ANIMALS}",
    "親子": f"person, {_ANIMALS}",
    "母子": f"person, {_ANIMALS}",
    "ブリーフケース": "suitcase, handbag",
    "トートバッグ": "handbag, backpack",
    "ショルダーバッグ": "handbag, backpack",
    "ぬいぐるみ": "teddy bear",
}

# Words too wide to be judged in a candidate; in a reference they tell that one of these may be there.
EVIDENCE = {
    "机": "dining table",
    "デスク": "dining table",
    "座席": "chair, bench",
    "スツール": "chair",
    "バッグ": "handbag, backpack, suitcase",
    "鞄": "handbag, backpack, suitcase",
    "かばん": "handbag, backpack, suitcase",
    "カバン": "handbag, backpack, suitcase",
    "荷物": "handbag, backpack, suitcase",
    "グラス": "cup, wine glass",
    "飲み物": "cup, wine glass, bottle",
    "コーヒー": "cup",
    "ワイン": "wine glass, bottle",
    "ビール": "cup, bottle",
    "植物": "potted plant",
    "画面": "tv, laptop, cell phone",
    "スキー": "skis",
    "サーフィン": "surfboard",
    "野球": "baseball bat, baseball glove, sports ball",
    "テニス": "tennis racket, sports ball",
    "サッカー": "sports ball",
    "トイレ": "toilet",
    "洗面所": "sink",
    "皿": "bowl",
    "果物": "apple, banana, orange",
    "フルーツ": "apple, banana, orange",
    "手": "person",
    "チーム": "person",
    "雑誌": "book",
    "電話": "cell phone",
    "花": "vase, potted plant",
    "食器": "fork, knife, spoon, bowl, cup",
}

# Phrases that contain a word above and do not name its object; read first, and passed over.
OTHERS = """
犬小屋 犬用 猫用 人用 馬小屋 鳥小屋 鳥かご 鳥籠 鳥居 牛小屋 牛乳 牛肉 牛舎 鶏肉 鶏小屋 馬車馬 バス停 バス停留所
バスターミナル バスルーム バスタブ バスローブ バスケット バス乗り場 車椅子 車いす 車道 車庫 駐車場 車輪
電車ごっこ 船着き場 船着場 船乗り ボート乗り場 自転車置き場 自転車レーン 自転車道 バイク便 腕時計 砂時計 本棚
本屋 本物 本日 ベッドルーム 寝室 テーブルクロス テーブルセット ナイフ立て ケーキ屋 ピザ屋 ピザ窯 リンゴの木
りんごの木 リンゴジュース オレンジ色 オレンジジュース みかん色 バナナの木 人形 人参色 人力車 雪だるま
トラック競技 陸上トラック 鉢巻き 信号待ち 椅子取り ボールペン ボール遊び カップ麺 カップラーメン ワールドカップ
花火 傘立て 靴 コーヒーテーブル 卓球台 テレビ台 テレビ局 テレビ番組 キーホルダー 携帯ゲーム機 携帯型
マウスパッド パンダ柄 人里 人工 人気 一人称 男性用 女性用 子供用 子ども用 子供部屋 子供服 紳士用 婦人用
消火栓マーク フォークリフト 馬術 馬場 牛丼 鳥瞰 犬ぞり 船長 船頭 熊手 客室 客席 女性専用 男湯 女湯 凧糸 象牙
象徴 馬跳び 瓶詰め 鉢合わせ 書籍売り場
"""

# A word of the table beside one of these is a likeness, not the object.
_LIKENESS_BEFORE = """
    おもちゃの 玩具の 模型の ぬいぐるみの レゴの 木彫りの 偽物の ミニチュアの 紙の 銅の ブロンズの 石の
"""
_LIKENESS_AFTER = """
    の像 の銅像 の石像 の絵 の絵画 の彫刻 の彫像 の置物 のぬいぐるみ のおもちゃ の玩具 の模型 の人形 のイラスト
    の柄 柄 の模様 模様 のマーク のロゴ の形 形 型 の着ぐるみ の仮面 のシール のステッカー のオブジェ の看板
    の飾り の写真 用 像 の凧
"""


def items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


def build() -> dict[str, object]:
    lines: list[str] = []
    for line in CLASSES.strip().splitlines():
        if line.startswith(" "):
            lines[-1] += line
        else:
            lines.append(line)
    table: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for name, _, words in (line.partition(":") for line in lines):
        names[name] = words.split()[0]
        for word in words.split():
            table.setdefault(word.lower(), []).append(name)
    table.update({word.lower(): items(classes) for word, classes in SEVERAL.items()})
    for phrase in OTHERS.split():
        table.setdefault(phrase, [])
    return {
        "names": names,
        "words": dict(sorted(table.items())),
        "evidence": {word: items(classes) for word, classes in EVIDENCE.items()},
        "likeness_before": _LIKENESS_BEFORE.split(),
        "likeness_after": _LIKENESS_AFTER.split(),
    }
