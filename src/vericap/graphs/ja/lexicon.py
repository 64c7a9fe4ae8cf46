"""Small closed word lists the Japanese rules need; open classes come from JumanDIC's table."""

from __future__ import annotations

# Place words of the paper's "A の B" rule.
PLACE_WORDS = frozenset(
    "上 下 前 後ろ 右 左 中 外 隣 近く 間 上部 下部 右下 右上 左下 左上".split()
)  # fmt: skip
# Further place words of everyday captions, used where a noun must be told from a place ("ours").
MORE_PLACE_WORDS = frozenset(
    "横 脇 側 そば 傍 奥 手前 裏 表 内側 外側 真ん中 中央 中心 周り 周囲 端 隅 角 先 向こう 手元 足元 頭上 上空 背後 付近 "
    "あいだ なか うえ した まえ うしろ となり わき 後 内 中ほど 右側 左側 上側 下側 片隅 ふち 縁 ほとり 脇道 方 ほう".split()
)

# Verbs that only help another one after て: 座っ-て-いる, 動かし-て-ください.
HELPERS = frozenset(
    "いる ある おる くる 来る いく 行く ゆく しまう みる おく くださる 下さる もらう 貰う くれる 呉れる あげる "
    "やる いただく 頂く ちょうだい 頂戴 ほしい 欲しい いらっしゃる ござる".split()
)
# Second verbs that join a 連用形: 座り-続ける, 取っ組み-合う.
SECOND_VERBS = frozenset(
    "始める はじめる 続ける つづける 終わる おわる 終える 合う あう すぎる 過ぎる 出す だす かける 掛ける 込む こむ 切る きる "
    "上げる あげる 上がる あがる 下ろす おろす つける 付ける 回る まわる 合わせる".split()
)
DO_VERBS = frozenset({"する", "できる", "出来る", "致す", "いたす", "なさる"})

# Wearing, holding: the clause needs no place, so a に / で phrase before it belongs further out.
HOLDING = frozenset(
    "着る きる 被る かぶる 履く はく 穿く かける 掛ける つける 付ける 着ける 締める しめる 巻く まく 羽織る はおる 持つ もつ さす 差す 抱える "
    "抱く だく 背負う 着用する 装着する 身 する".split()
)
# Verbs whose に names where something is or goes.
TAKES_NI = frozenset(
    "いる ある 居る 有る 座る すわる 腰掛ける 腰かける 乗る のる 載る 立つ たつ 置く おく 並ぶ ならぶ 並べる 止まる とまる 停まる 留まる 停める 止める とめる 停車する "
    "駐車する 盛る もる 盛り付ける 盛りつける のせる 載せる 乗せる 入る はいる 入れる いれる 浮かぶ うかぶ 登る のぼる 上る 囲む かこむ つく 付く 付ける つける 貼る はる 張る 掛かる "
    "かかる 掛ける かける ぶら下がる 寝る 寝転ぶ 寝そべる 横たわる 飾る かざる 設置する 置ける 立てる たてる 描く 書く 写る 映る うつる 集まる 群がる 植える 生える "
    "刺さる 刺す またがる 跨る 跨がる 浸かる つかる 動かす 移動する 移す 運ぶ 渡す 捨てる しまう 落ちる 落とす 浮く 泊まる 出る 見える 敷く 降りる 来る 行く 着く 向かう むかう 見る "
    "座り込む 隠れる 住む 泳ぐ 戻す 戻る 配置する 用意する 取り付ける 散らばる 積む 積もる 咲く ある する 挟む はさむ 挟まる 繋ぐ つなぐ 触れる 触る 近づく 寄りかかる もたれる "
    "広がる 連なる 建つ 建てる 溢れる 収まる 収める 包む 乗り込む 佇む たたずむ 潜る 待機する ひしめく 整列する 集合する 固定する 停泊する 転がる 転ぶ 群れる".split()
)
EXISTENCE = frozenset({"いる", "ある", "居る", "有る", "おる", "見える"})
# Motion: their を names the path, so they take を though nothing is done to it.
MOTION = frozenset(
    "歩く あるく 走る はしる 飛ぶ とぶ 渡る わたる 通る とおる 泳ぐ およぐ 滑る すべる 進む すすむ 散歩する 走行する 横切る 登る のぼる 下る 降りる 曲がる 通過する 移動する "
    "通行する 漂う 飛行する 駆ける 行く いく 来る 流れる 出る 離れる 歩き回る 横断する 滑走する 滑り降りる 駆け抜ける 飛び越える".split()
)
# Verbs with an object, where JumanDIC does not say so (it lists only verbs that have a counterpart).
TRANSITIVE = frozenset(
    "持つ もつ 着る きる 被る かぶる 履く はく 食べる たべる 飲む のむ 見る みる 眺める ながめる 読む よむ 書く かく 描く えがく 置く おく 打つ うつ 投げる 蹴る ける 引く ひく 曳く 押す "
    "おす 作る つくる 切る きる 取る とる 撮る 使う つかう 弾く ひく 運ぶ はこぶ 盛る もる 囲む かこむ 飾る かざる 抱く だく 抱える かかえる 洗う あらう 焼く やく 食む 舐める なめる 追う おう "
    "追いかける 撫でる なでる 握る にぎる 差す さす 積む つむ 敷く しく 売る 買う 選ぶ 掴む つかむ 噛む かむ くわえる 咥える 構える 釣る つる 拭く ふく 掘る 揚げる 見つめる 見上げる 操る 操作する "
    "背負う 振る ふる 塗る 植える 待つ まつ 運転する 撮影する 用意する 設置する 展示する 食う 嗅ぐ かぐ 担ぐ 覗く のぞく 覗き込む 指す 挟む はさむ 包む つつむ 覆う おおう 照らす 貼る はる".split()
)
# Nouns that name the picture or a happening, not a thing that fills a case of the clause before them.
OUTER_NOUNS = frozenset(
    "様子 ようす 写真 画像 風景 光景 景色 場面 シーン 瞬間 ところ 所 姿 すがた 状態 こと 事 絵 映像 最中 途中 時 とき 際 まま ため はず つもり よう 模様".split()
)
# Adjectives' and demonstratives' adnominal forms: 連体詞 -> the adjective it stands for ("" says nothing).
ADNOMINALS = {
    "大きな": "大きい", "小さな": "小さい", "おかしな": "おかしい", "いろんな": "色々", "この": "", "その": "", "あの": "",
    "どの": "", "こんな": "", "そんな": "", "あんな": "", "どんな": "", "ある": "", "とある": "", "わが": "", "我が": "",
    "いわゆる": "", "例の": "", "同じ": "同じ", "ほんの": "", "たいした": "", "各": "",
}  # fmt: skip
PLURALS = frozenset("たち 達 ら 等 ども 共".split())
# Place words in kana -> as the rules know them.
PLACE_SPELLINGS = {
    "なか": "中", "うえ": "上", "した": "下", "まえ": "前", "うしろ": "後ろ", "となり": "隣", "あいだ": "間", "ちかく": "近く",
    "みぎ": "右", "ひだり": "左", "そと": "外",
}  # fmt: skip
# Nouns that with に say how: 一緒に歩く.
MANNERS = frozenset("一緒 一斉 交互 同時 別々 次 順番 いっしょ 共 とも 縦横 逆さま".split())
HONORIFICS = frozenset({"お", "ご", "御", "み"})
# Nouns that say how many, whatever the dictionary calls them.
QUANTITIES = frozenset(
    "たくさん 沢山 多く 多数 大勢 おおぜい 数多く 複数 少し 少数 いくつか いくつ 幾つか 全て すべて 全部 全員 みんな 皆 半分 一部 大量 無数 いくつも 何人 何人か 数々 両方 双方 "
    "ひとつ ふたつ みっつ よっつ ひとり ふたり 一人 二人 たっぷり いっぱい 一杯 山盛り".split()
)
# Coordinating particles between nouns.
JOINING = frozenset({"と", "や", "とか", "か", "やら", "だの", "および", "及び"})
CASE_OF = {
    "が": "ガ", "を": "ヲ", "に": "ニ", "と": "ト", "で": "デ", "から": "カラ", "より": "ヨリ", "へ": "ヘ", "まで": "マデ",
    "にて": "デ", "によって": "ニ", "として": "ト", "に対して": "ニ", "に向かって": "ニ",
}  # fmt: skip
