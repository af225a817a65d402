"""Direction vectors of Sobol's sequences, from primitive polynomials and the initial numbers of Joe and Kuo.

S. Joe and F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, SIAM J. Sci.
Comput. 30 (2008): their set "new-joe-kuo-6". The table holds the dimensions whose polynomials have a degree
of at most 12. The vectors of further dimensions are those of libcurand, which has the same set.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import functools

import numpy as np

from pycuda._compile.files import passing
from pycuda._compile.finder import library_path

# The number of dimensions of libcurand. Further ones repeat them.
LIMIT = 20000

# How many primitive polynomials there are, by degree from 1 on.
_COUNTS = 1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144
DIMENSIONS = 1 + sum(_COUNTS)

# For each dimension but the first, lowest bit first: the polynomial without its highest and lowest
# coefficient, then number i without its lowest bit, which is 1, in i - 1 bits.
_TABLE = (
    "7ZHWEP)L-Vn@d0=<<*CAaKlx>xbehC*xXpA(g*LJnYitUhdl8^N?@83Q>>?`{Zp|?J+28Oel{ckyexI4$c{?u1)KU<N907bcvA}v"
    "+yme5rg_YtVndGn4W_U3-#?fotzz;`Y1fhP^0lCr*uxJz$$~6_nMS5^oVXVt%N;I9&XMuGxi_dnJs2KFwsP3>he#UDqyD{GFIClq"
    "2$iGD`rfbxun8g%5Y9!gY7y~yX89Rtp^vu3!jgmMwJ&^HYVb?*eM*ULH^`p*ow7s!*%(khGT&(hIE1S9`I1U*4ek^gMWI0hK~nY("
    "u-|@FPz{s?Tk;#@KkqfjXInpK3Z(vLhsN!b@{nyTYJFR;2Z1rrtb97~d;pP{PDRgGiovz-kMY>Fr>mHe3<Qp^geeI>3{Rct6xs-P"
    "I(6q|hplDdtdj$4to29HwbBaOR$}W<33=kV51FR{{+s8VSO>xYKoZ$|oL_Ye@!C!{HF(XvNL<3M;~TZ9Ls>2sGVo63KXb^drf$$C"
    "Q*7*Wwgtx*-)s&1@AOm&OUKr~xrBO21ac8l{H<IAOXl|<nl~Y%vGUngT9D}u@Y+2x?leS*0Pc+{`#|}W3WWK8RL&F^F>MAHd@5ox"
    "MR4Mo_?jc$c$4}uhXtSR%1-B*$tSRj2!FhD-wRrup^(YQQ3J-P{ws4PR7Fyr`&QeDm=5EiGd!#(ObyMl79WblZ0($ktoqEh1R%M!"
    "j^&|osiQCzuUp%7a%?J9WvG%bV{Xf#ah%XfSk8qt<+x9<(+o8!Zxi}^1kLXIaOoi+{Qcyb%DD$qLeax}nIoYv1g9&w14)c^`swYo"
    "8y);P3qx?oyP#bAAaRm1{tdOUwAA{$7wC9Ag>}FeW5G|IHz8|#Ni>_3^@%fSU3eoU)Bs>%Mxf>0Sz51g3{_kEwpdY7`dItj%1^7`"
    "(2I2&&VawU<3rx%^wtMigGwZGTymZT?CEj(qa{m0zNED24^qpQHK`f|W{Ve_vCfxw!><ytc~_JF*Ol)nt+yOgZ@ea78;t-YPn)SU"
    "&GgvU9QoU|LVHtZuSk5J-#&WfFSYT<CLA&5vjXgm@g7bHbryJIt<;@(V^qKovgKK7<g$P+#0--yGCM*5K3scYZ!-oPA>p=WbF>U<"
    "hr{Ipn?W2trhG)VSHV4u6)iI!fewtwA`e)N^DHPKHNfYUdtG~CXD9rNdf!h)V8jMTzd!&BGloMM8XemiCgYxsV|)!XoIRD0ZIp0u"
    "D5k%j``B9N(8rZKE$@5Ofi|<3g)y|%;}@YJ3)H%6$U$|KJH4ztk(q(eSa<b<B*03-Z3tXxN|bk5Vv{2Fom{e!N&8cNJux6&4eeqv"
    "i{jX-hNDG<A>|>~GOXJGgo<QtCo4MXzm>+hftZRrU@nuZxA8Z%UtN9@%E$vemcP`;Ay;|qH-f>j{@)NR7#@S~P{t*aO0MR<sVG6@"
    "eqznLMrJ7v9E+Pjn_A|EG5a`)Go@MZMGSVVE~tz=>eBK=EI=^DM#J`r>fom4tt$c~mfouyl>8Y8sEHS)TBVfGOGq}Lh!R_&Kx<CG"
    "DJ~R64l!N)w5}bJ!cyE>UZ&45dA+eWi;8@0Vv<^!?@Fce6a&<coLw;d$&&)YczL-iRG{$%#VlA8DKg|c&7l^XQ!~iMi!xQPsZ{VW"
    "-I_cGRbl*NsUG7Uvtp}mppiz1Xhl(w`?0-BRtwj!#xU$|`WD@Uul$vTgs!L)@;2!>>|Km?zaKV{Y`k`B7)`i*UVZgjquO_0KLTqt"
    "AQSv$F%f3p!x0Pp%16wP^Dw7R?30<9Y^m}$7ymO-8~+ws!4+r}r8@TMSKHE*WPz-TZ5ONwwp3Rn8VO#*nVEjm>=?=>qT4QinDoDG"
    "^iRy_tLN+6KaaiQrb=nJo5gtUyTw#-i?TBE04n6<zyhG4fYd_DF=>!Wue@KbtBt5h`ouPF7f6<XVU+gvPEX!x$GPH9-q8d^ih3cV"
    "z5G`qkQdpIdv+Z##dZ3#`MTNU;qo8u_LZZogE26b3Vha(?*H6)8mK}hxe(`}WpK={Oj0Er@u2ZAnd<cXX+=a#mx^_DJ&aHWO$hUP"
    "y&7YpEzJrBPB}7zbK%IG35B$<UKad_dJ);H@4tKxc3SepQE-2#Jl`Z;g}^xYSj<WMsWC;g#zB@%j|dGy2-h#;Pug*afPZ7!FLLIQ"
    "_nXXQIXMr?>)oU|Y57s_47yTN<p(Fi41*OX^`$(E>DHf4l$JBkM8NKzY}K2dS+LGPEl{<5RXQ7oqM`ht@=9+Vt!P3h;U$$#>J8}L"
    "gb3xgG@+$xF9=}(YMYA~I92+7)aZmlb4Z1ts(?UHbp!StRxyg^Y6+AKv2qA9@l|CrZ{1g_+`ETu;hN39ZIIjYNY+Iiu>(~H{cH$-"
    "MUZF=ky@oFz?mE*V7EkD8`>-_S8rR6*Ebc~*W~gF-2N+@xz}A|lugbw^|U(`k)h(qD}+}#`x~RydOYt2@FS6^YFgj=rdBtJp`F0="
    "BiOKJX?TYXkgbcmPmK_tENBtR^=v18zZ&QU{`yqx1AORE{esDO5)EPZa}Lk3JAQwV%SnA?K7~eh(hXtBC&UcLM-4xfJJnKiht*Cm"
    "clT`3e#+Hx9yo%*WU%}6{3R@y7CiIud8**J<{^9qw640&20wQ@X-#dGyz)fL)7Y3JZ`j!SsHKEluA5;_U5_yt50_a6&wfVM%mG6d"
    "yX_2ZDM<9(%$uA+qmq|3!nfJmF@c5Gu5gBP{Yh4S8RO3QBtyP(A<U1>H1lrF=9^2sPRzZ9<6TGVZo>Qd+Saajb`i0Ci?%(1aPIOE"
    "#HTxO)j~{}e=K;UG3$s&K0oq`lyX3kI;Q25;ZqN=Q9sSEy>NL~B_XDl>C2{YDyUfhM7P3n&zRA^sWiGOSmR>;nJ`b_ecdDdR-)28"
    "w~wLx4<9?_B0@^~J5jE1Xv%OY@S^ij$IEo{oCZPMx#|m(3tjYJUswmZy<t^AAFQM0X?El}#m)rwI+Yj-eJ4NA;3{6)Kj0|@MjiUO"
    "I@_Y{%x)Qk+q_+&M9}j-k5Er)Z7}M!D?Jj8l_oJpOuQs^A`u{2o&QtBj8kOi`q!VX!2!RDT6u=}4<qE{V1auYNRtCg3U@7Ni}|-_"
    "p;<l?#<c3{_cDKx64@AC^W-5g1^t#Cm|LF^6Pp^Ayd$&|YHcJjI$(p05)U-yiofc*k+nJA%L=MQK|G=t3f~_{PqFh%Kz8<X0$@jQ"
    "%ZVVrOpLSaAuB&YR9IAAfX@q*D{8=9<X2oWYJr9RgADRLTvfWVya-8CWgeg?c^H@CQ=c8$3y~bNKNCU_7PN^!WYj^@%G8g&wB?LH"
    "r}i=d#y8fVsm0?GNn$uuz%;nm`Z1Nn693=^4iLG*wA7z2<}3!yF_W99S00^uaNoSAni*xN)3?{XTf1pe|A4UXeq9*XHwVH{Av0(3"
    "@wz7J8-nI`P7`lk-TFjQsiah}a^knRs7XVK#*V;!<Qa8Y845*#o8PLVFzpRfK1NQGrzGqFc^&LMOQV%EG_|~BVxpZ)6Qz6^`xjY1"
    "@`p-OAM!Q1TW!WshX*7IeNm!Mm?}nc32g@;f1zY`DYvL4AFLKBuDX_I2IMspw$@dwG)krSLYlO@Kv)>C{b6qLtXH%>i>z*K0~Z7v"
    "8hx;le#FaUWQ4xLw#STdAF51WGN3INB+)dMS&}3<pQ088DK$vGz<0d1N;JKOj*UwE3>}!Q;`*A$XOO@c-eBC)U#rG_V6Zcxlc(g{"
    "Eb4swLUgH}8l^FbZ>#HWE@9^b_=Vys;;otytS|LDF>k%HnF>DgC}noD*BU_;PuyEr+xL|Ag@4!-iai0}PW(khzwJXuD<pq*hR?}t"
    "0@H<4o7y-{y?!VoaU|w1x<k8pnkD*((ps~l(;~)2*}a5vU2CoM?)bjxOo%7(^j9N2Lky#fR4d@p<R@8*xiQ&ip`eVj6(X&7PdZta"
    "^Qt)+YCOA6^fFoSbX)*h@Wx^mQ|-<ig?dqm&FDGyZq#3ZSG-B2-X0H??$HW4M}elldU0F*Ip+&xFKgJYy4v&9Y;MnK96JBHp_1OL"
    "v(YTNK2-F1hUS#-$Tg0P5+CH$d%e7|NYjO64K3UESFMYBLi2WX6JF&%T1j|T2DjudeueAx1KZ7?Y*_<(HRu9w+_541uCR^D8xbFu"
    "%C#nT!;<O7zo={X$C5i^?W(*OinrR#@iU@77`JPY%Zebqpd6-@`E+@+{yFzqC+qp{#2tFvEe~C(;H}#)IS*%j&O5!obQyIqo-!Q^"
    "nEf*`toTu;Qv{P~Ue^DQTz9)*>Mg-(xpe4}C%ojryKM9XEu4u3b6oLH3`0X4a$ZCGrxVcY#ZTVV5Z>8P7??uJ??`2b?4)N4b(uq$"
    "%axYYzX&n&g3abHFz~TM=4ZA_kv*7o%FZmP%@t$gEq;5RHJ$pGii9()9yAP(3(tYNB|wpW%3aWrXk2R})J~BK<OHDe&7d06^T;GC"
    "{XnT!8x0CM9@q-PrRzfuxdqz*Dh7nTWY`o`ON%A~vEfl-NLM_cb5yve3#q7@MyJsXuUMcmx+1d>@Z##tEwJu)N7;+qCyt)hu$gjr"
    "lv8Qb2U;z!7B%w=%ofd_{K)-szC}R96IAG-+tDSjD-<#nnwX6HsKf+_PpLVJh&OJ85HLIgMzZlKd<#UV6t(V6K297Ip423@SlqYd"
    "nz$dhUSrLCVS;&7EZlB8x)0S_gT$!8(6RU12rL0SkGo|ff9MWBfW#bP<^")  # fmt: skip


def _polynomials():
    """(degree, coefficients between the first and the last, initial numbers) of each dimension but the
    first."""
    stream = int.from_bytes(base64.b85decode(_TABLE), "little")
    place = 0

    def take(bits: int) -> int:
        nonlocal place
        place += bits
        return stream >> (place - bits) & ((1 << bits) - 1)

    for degree, count in enumerate(_COUNTS, 1):
        for _ in range(count):
            between = take(degree - 1)
            yield degree, between, [2 * take(i) + 1 for i in range(degree)]


@functools.cache
def _table_vectors() -> np.ndarray:
    """The direction vectors of the dimensions in the table: (DIMENSIONS, 64), of 64 bits."""
    rows = [[1] * 64]
    for degree, between, numbers in _polynomials():
        for i in range(degree, 64):
            new = numbers[i - degree] ^ numbers[i - degree] << degree
            for k in range(1, degree):
                if between >> (degree - 1 - k) & 1:
                    new ^= numbers[i - k] << k
            numbers.append(new)
        rows.append(numbers)
    vectors = [[number << (63 - i) for i, number in enumerate(numbers)] for numbers in rows]
    return np.array(vectors, np.uint64)


def library() -> ctypes.CDLL | None:
    """libcurand; None if it is not installed."""
    with passing, contextlib.suppress(ImportError, RuntimeError):
        return ctypes.CDLL(library_path("curand"))
    for major in 10, 11:
        with passing:
            return ctypes.CDLL(f"libcurand.so.{major}")
    return None


@functools.cache
def _from_library() -> np.ndarray:
    """libcurand's direction vectors of all its dimensions: (LIMIT, 64), of 64 bits."""
    found = library()
    pointer = ctypes.POINTER(ctypes.c_uint64)()
    joe_kuo_64 = 103
    if found is None or found.curandGetDirectionVectors64(ctypes.byref(pointer), joe_kuo_64):
        raise RuntimeError(
            f"pycuda has direction vectors for {DIMENSIONS} dimensions; more need libcurand, "
            "which is not installed (the package nvidia-curand has it)"
        )
    return np.ctypeslib.as_array(pointer, (LIMIT * 64,)).reshape(LIMIT, 64).copy()


def vectors(count: int) -> np.ndarray:
    """The 64-bit vectors of `count` dimensions. Those of 32 bits are the upper halves of the first 32."""
    if count <= DIMENSIONS:
        return _table_vectors()[:count]
    found = _from_library()
    return found[np.arange(count) % LIMIT]


# ---- scrambling: our own, from a fixed seed

# Random words of 64 bits for each dimension: a matrix of 64, and a constant.
_WORDS = 64 + 1
_SEED = 0x50594355, 0x44415352


def philox(counters: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Philox 4x32-10 of counters that are rows of four words."""
    x = [counters[:, k].astype(np.uint64) for k in range(4)]
    key0, key1 = key
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        a, b = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [
            (b >> half) ^ x[1] ^ np.uint64(key0),
            b & low,
            (a >> half) ^ x[3] ^ np.uint64(key1),
            a & low,
        ]
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(x, axis=1).astype(np.uint32)


def _random(first: int, count: int) -> np.ndarray:
    """The random words of dimensions first ... first + count - 1: (count, _WORDS), of 64 bits."""
    half = (_WORDS + 1) // 2
    counters = np.zeros((count * half, 4), np.uint32)
    counters[:, 0] = np.tile(np.arange(half, dtype=np.uint32), count)
    counters[:, 1] = np.repeat(np.arange(first, first + count, dtype=np.uint32), half)
    words = philox(counters, _SEED).astype(np.uint64)
    pairs = words[:, 0::2] | words[:, 1::2] << np.uint64(32)
    return pairs.reshape(count, 2 * half)[:, :_WORDS]


def _parity(x: np.ndarray) -> np.ndarray:
    """1 for each number that has an odd number of bits that are 1, else 0."""
    for shift in 32, 16, 8, 4, 2, 1:
        x = x ^ (x >> np.uint64(shift))
    return x & np.uint64(1)


def _scramble(plain: np.ndarray, first: int) -> np.ndarray:
    """Each vector times a random lower triangular matrix of its dimension, with ones on the diagonal; the
    highest bit is the first. This keeps a sequence's uniformity (Matousek 1998). first: the number of the
    first dimension."""
    random = _random(first, len(plain))
    result = np.zeros_like(plain)
    for row in range(64):
        bit = np.uint64(63 - row)
        above = np.uint64((1 << 64) - (1 << (64 - row)))
        mask = random[:, row] & above | np.uint64(1) << bit
        result |= _parity(plain & mask[:, None]) << bit
    return result


def scrambled_vectors(count: int) -> np.ndarray:
    """The direction vectors of vectors(), scrambled."""
    plain = vectors(min(count, LIMIT))
    parts = [_scramble(plain[first : first + 1024], first) for first in range(0, len(plain), 1024)]
    scrambled = np.concatenate(parts) if parts else plain
    return scrambled if count <= LIMIT else scrambled[np.arange(count) % LIMIT]


def scramble_constants(count: int) -> np.ndarray:
    """The 64-bit constants of `count` dimensions. Those of 32 bits are their upper halves."""
    constants = _random(0, min(count, LIMIT))[:, -1]
    return constants if count <= LIMIT else constants[np.arange(count) % LIMIT]
